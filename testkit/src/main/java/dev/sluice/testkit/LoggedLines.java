// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/**
 * The lines that a class logs from level INFO on. Until it is closed, nothing of that is written
 * elsewhere. Thread-safe.
 */
public final class LoggedLines extends Handler implements AutoCloseable {

  private final Logger logger;
  private final boolean parents;
  private final List<String> lines = new CopyOnWriteArrayList<>();

  /**
   * Begins to collect.
   *
   * @param of the class that logs
   */
  public LoggedLines(Class<?> of) {
    this.logger = Logger.getLogger(of.getName());
    this.parents = logger.getUseParentHandlers();
    logger.setUseParentHandlers(false);
    logger.addHandler(this);
  }

  /**
   * Returns what was logged so far.
   *
   * @return each line with its level before it: {@code WARNING text}
   */
  public List<String> lines() {
    return lines;
  }

  @Override
  public void publish(LogRecord entry) {
    if (entry.getLevel().intValue() >= Level.INFO.intValue()) {
      lines.add(entry.getLevel() + " " + new SimpleFormatter().formatMessage(entry));
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
