// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.internal.text.LogPace;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.function.LongSupplier;

/**
 * A rate-limited log: at most one line of each kind in ten seconds, with the number of omitted
 * lines. Never logs an id.
 *
 * <p>Thread-safe; blocks only if the logger blocks.
 */
final class QuietLog {

  private final Logger logger;
  private final LogPace shadow;
  private final LogPace failures;

  QuietLog(Logger logger, LongSupplier nanoTime) {
    this.logger = logger;
    this.shadow = new LogPace(nanoTime);
    this.failures = new LogPace(nanoTime);
  }

  void shadowDenied(Object rule, Object limit) {
    String more = shadow.next();
    if (more != null) {
      logger.log(
          Level.INFO,
          "%s would have denied a request (shadow rule on %s)%s".formatted(limit, rule, more),
          (Throwable) null); // without this argument, the text would be a format string
    }
  }

  void failed(String what, Exception failure) {
    String more = failures.next();
    if (more != null) {
      logger.log(Level.WARNING, "%s: %s%s".formatted(what, failure.getMessage(), more), failure);
    }
  }
}
