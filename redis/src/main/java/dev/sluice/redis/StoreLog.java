// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/**
 * The log of a store. A handler that throws, an Error included, keeps the store from nothing.
 * Stateless.
 */
final class StoreLog {

  private static final Logger LOG = System.getLogger("dev.sluice.redis");

  private StoreLog() {}

  static void log(Level level, String line, Object... parameters) {
    try {
      LOG.log(level, line, parameters);
    } catch (Throwable e) {
      // A log that fails can't be told of.
    }
  }

  static void log(Level level, String line, Throwable failure) {
    try {
      LOG.log(level, line, failure);
    } catch (Throwable e) {
      // A log that fails can't be told of.
    }
  }
}
