// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** What a class logs, until closed. */
final class LoggedLines extends Handler implements AutoCloseable {

  private final Logger logger;
  private final List<String> lines = new CopyOnWriteArrayList<>();

  LoggedLines(Class<?> of) {
    this.logger = Logger.getLogger(of.getName());
    logger.setUseParentHandlers(false);
    logger.addHandler(this);
  }

  List<String> lines() {
    return lines;
  }

  @Override
  public void publish(LogRecord entry) {
    lines.add(new SimpleFormatter().formatMessage(entry));
  }

  @Override
  public void flush() {}

  @Override
  public void close() {
    logger.removeHandler(this);
    logger.setUseParentHandlers(true);
  }
}
