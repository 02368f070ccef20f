// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.faults;

import java.util.concurrent.TimeUnit;

/**
 * Measures by how much a sleeping thread oversleeps. This is the delay that the machine adds to
 * every call. Runs a thread until this object is closed. Thread-safe.
 */
final class Stalls implements AutoCloseable {

  private static final int SLEEP_MILLIS = 5;

  private final Thread thread = new Thread(this::measure, "stalls");
  private volatile long longestNanos;

  Stalls() {
    thread.setDaemon(true);
    thread.start();
  }

  private void measure() {
    try {
      while (true) {
        long start = System.nanoTime();
        TimeUnit.MILLISECONDS.sleep(SLEEP_MILLIS);
        long stallNanos = System.nanoTime() - start - TimeUnit.MILLISECONDS.toNanos(SLEEP_MILLIS);
        longestNanos = Math.max(longestNanos, stallNanos);
      }
    } catch (InterruptedException e) {
      // This object was closed.
    }
  }

  long longestNanos() {
    return longestNanos;
  }

  long longestMillis() {
    return TimeUnit.NANOSECONDS.toMillis(longestNanos);
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
