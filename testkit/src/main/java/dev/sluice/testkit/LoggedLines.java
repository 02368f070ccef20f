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
 * Captures the lines that a class logs at level INFO and above. Until {@link #close}, the class
 * writes to no other log. Thread-safe.
 */
public final class LoggedLines extends Handler implements AutoCloseable {

  private final Logger logger;
  private final boolean parents;
  private final List<String> lines = new CopyOnWriteArrayList<>();

  /**
   * Starts to capture the log lines of a class.
   *
   * @param of the class whose log is captured
   */
  public LoggedLines(Class<?> of) {
    this.logger = Logger.getLogger(of.getName());
    this.parents = logger.getUseParentHandlers();
    logger.setUseParentHandlers(false);
    logger.addHandler(this);
  }

  /**
   * Returns the lines logged so far.
   *
   * @return the lines, each after its level, such as {@code WARNING text}
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
