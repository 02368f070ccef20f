// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/**
 * The log of all stores of one kind. Exceptions and Errors of log handlers are ignored.
 * Thread-safe.
 */
public final class StoreLog {

  private final Logger logger;

  /**
   * Creates the log of a kind of store.
   *
   * @param kind the name of the stores' package in {@code dev.sluice}, such as {@code redis}
   */
  public StoreLog(String kind) {
    this.logger = System.getLogger("dev.sluice." + kind);
  }

  public void log(Level level, String line, Object... parameters) {
    try {
      logger.log(level, line, parameters);
    } catch (Throwable e) {
      // The log handler failed. The failure of a log handler cannot be logged.
    }
  }

  public void log(Level level, String line, Throwable failure) {
    try {
      logger.log(level, line, failure);
    } catch (Throwable e) {
      // The log handler failed. The failure of a log handler cannot be logged.
    }
  }
}
