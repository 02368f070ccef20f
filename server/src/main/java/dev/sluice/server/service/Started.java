// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import java.util.ArrayDeque;
import java.util.Deque;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Parts that were started. Closing ends them in the reverse order, and goes on after a part that
 * fails to end. Thread-safe.
 */
final class Started implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Started.class);

  private final Deque<Runnable> ends = new ArrayDeque<>();

  /** Remembers how to end a part that was started. */
  synchronized void add(Runnable end) {
    ends.push(end);
  }

  @Override
  public synchronized void close() {
    while (!ends.isEmpty()) {
      try {
        ends.pop().run();
      } catch (RuntimeException e) {
        log.error("a part of the server did not stop; the others are stopped all the same", e);
      }
    }
  }
}
