// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Ends the overdue requests of a queue. All requests have the same time-out, so the oldest is due
 * first: one timer per queue suffices, armed only while requests are outstanding.
 *
 * <p>If a sweep throws (a missing class, a full heap), the next sweep continues its work, and there
 * is always a next one while requests are outstanding. A timer is set before any code relies on it,
 * since setting it may throw as well. Thread-safe; no method blocks.
 */
final class Deadlines {

  private static final long SWEEP_AT_LEAST_NANOS = 1_000_000;
  private static final long AFTER_ALL_NANOS = Long.MAX_VALUE / 2;

  /** The requests of a queue that have not ended. */
  interface Requests {

    /** Ends the requests that are overdue. */
    void end(long nanoTime);

    /** Returns the request that is due next, null if there is none. */
    @Nullable Request oldest();

    /** Called after a sweep, which may have freed places. */
    void swept();

    /** Runs a task later. */
    void after(long nanos, Runnable task);
  }

  private final Timing timing;
  private final Requests requests;
  private final AtomicReference<@Nullable Sweep> next = new AtomicReference<>();

  Deadlines(Timing timing, Requests requests) {
    this.timing = timing;
    this.requests = requests;
  }

  boolean isArmed() {
    Sweep armed = next.get();
    return armed != null && !armed.hasEnded;
  }

  /**
   * Arms a sweep for the time when a request is due, unless one is armed for that time already. If
   * this throws, no sweep was armed, and the sender must end the request.
   */
  void arm(Request due) {
    Sweep armed = next.get();
    if (armed != null && armed.comesFor(due)) {
      return;
    }
    Sweep sweep = new Sweep(due);
    requests.after(Math.max(due.deadline - timing.nanoTime(), SWEEP_AT_LEAST_NANOS), sweep);
    while (!next.compareAndSet(armed, sweep)) {
      armed = next.get();
      if (armed != null && armed.comesFor(due)) {
        return; // the Sweep set above will find nothing to do
      }
    }
  }

  /** A timer task that ends overdue requests, and arms the next sweep. */
  private final class Sweep implements Runnable {
    private final Request due;
    private volatile boolean hasEnded; // whether requests must no longer rely on this Sweep

    Sweep(Request due) {
      this.due = due;
    }

    boolean comesFor(Request other) {
      return !hasEnded && due.deadline - other.deadline <= SWEEP_AT_LEAST_NANOS;
    }

    @Override
    public void run() {
      try {
        requests.end(timing.nanoTime());
      } finally {
        hasEnded = true;
        next.compareAndSet(this, null);
        try {
          armNext();
        } finally {
          requests.swept();
        }
      }
    }

    private void armNext() {
      Request oldest = requests.oldest();
      if (oldest != null) {
        try {
          arm(oldest);
        } catch (Throwable e) { // no memory for a timer: ends all requests, although too early
          requests.end(timing.nanoTime() + AFTER_ALL_NANOS);
        }
      }
    }
  }
}
