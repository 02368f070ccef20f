// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import dev.sluice.text.LogPace;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;

/**
 * A log that clients cannot flood: at most one line in ten seconds, without a stack trace, which
 * says how many were left out. Thread-safe; blocks as long as the logger does.
 */
final class PacedLog {

  private final Logger logger;
  private final LogPace pace;

  PacedLog(Logger logger, LongSupplier nanoTime) {
    this.logger = logger;
    this.pace = new LogPace(nanoTime);
  }

  void warn(Supplier<String> message) {
    String more = pace.next();
    if (more != null) {
      logger.warn("{}{}", message.get(), more);
    }
  }
}
