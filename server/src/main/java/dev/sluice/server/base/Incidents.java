// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Gives failures inside the server an id, which the answer carries and the log explains. Equal
 * causes within a second share an id and a log line, so that an outage does not flood the log: at
 * most {@value #MOST} lines a second. Thread-safe; never blocks.
 */
final class Incidents {

  static final int MOST = 8;

  private static final long WINDOW_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final LongSupplier ticker;
  private final Map<String, String> ids = new HashMap<>();
  private long since;

  /**
   * Makes a register without incidents.
   *
   * @param ticker nanoseconds from anywhere
   */
  Incidents(LongSupplier ticker) {
    this.ticker = ticker;
  }

  /**
   * Returns the id of a cause.
   *
   * @param cause equal causes are one incident
   * @param log called with the id where it is a new one
   * @return eight hex digits
   */
  String of(String cause, Consumer<String> log) {
    String id = HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextInt());
    String known = claim(cause, id);
    if (known.equals(id)) {
      log.accept(id);
    }
    return known;
  }

  private synchronized String claim(String cause, String id) {
    long now = ticker.getAsLong();
    if (ids.isEmpty() || now - since >= WINDOW_NANOS) {
      ids.clear();
      since = now;
    }
    String key = ids.size() < MOST - 1 || ids.containsKey(cause) ? cause : ""; // all others
    String known = ids.putIfAbsent(key, id);
    return known == null ? id : known;
  }
}
