// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** What a class logs, until closed. */
final class LoggedLines extends Handler implements AutoCloseable {

  private final Logger logger;
  private final boolean parents;
  private final List<String> lines = new CopyOnWriteArrayList<>();

  LoggedLines(Class<?> of) {
    this.logger = Logger.getLogger(of.getName());
    this.parents = logger.getUseParentHandlers();
    logger.setUseParentHandlers(false);
    logger.addHandler(this);
  }

  List<String> lines() {
    return lines;
  }

  @Override
  public void publish(LogRecord entry) {
    if (entry.getLevel().intValue() >= Level.INFO.intValue()) {
      lines.add(entry.getLevel() + " " + entry.getMessage());
    }
  }

  @Override
  public void flush() {}

  @Override
  public void close() {
    logger.removeHandler(this);
    logger.setUseParentHandlers(parents);
  }
}
