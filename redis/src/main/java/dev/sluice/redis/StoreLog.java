// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/** Logs for a store; exceptions and Errors of log handlers are ignored. */
final class StoreLog {

  private static final Logger LOG = System.getLogger("dev.sluice.redis");

  private StoreLog() {}

  static void log(Level level, String line, Object... parameters) {
    try {
      LOG.log(level, line, parameters);
    } catch (Throwable e) {
      // The log itself failed: nothing is left to report to.
    }
  }

  static void log(Level level, String line, Throwable failure) {
    try {
      LOG.log(level, line, failure);
    } catch (Throwable e) {
      // The log itself failed: nothing is left to report to.
    }
  }
}
