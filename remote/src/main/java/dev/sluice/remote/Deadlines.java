// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Times out the overdue requests of a queue. All requests have the same time-out, so the oldest
 * request is overdue first, and a queue needs only one timer. The timer runs only while requests
 * are outstanding.
 *
 * <p>A timer task that ends overdue requests is called a sweep. If a sweep throws (a missing class,
 * a full heap), the next sweep continues the work. While requests are outstanding, a sweep is
 * always scheduled. Setting the timer can throw, so no code relies on the timer before it is set.
 * Thread-safe; no method blocks.
 */
final class Deadlines {

  private static final long SWEEP_AT_LEAST_NANOS = 1_000_000;
  private static final long AFTER_ALL_NANOS = Long.MAX_VALUE / 2;

  /** The requests of a queue that have not ended. */
  interface Requests {

    void end(long nanoTime);

    /** Returns the request with the earliest deadline; null if there are no requests. */
    @Nullable Request oldest();

    /** Called after a sweep, which can have freed slots of calls. */
    void swept();

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
   * Schedules a sweep for the deadline of a request, unless a sweep is already scheduled for that
   * time. If this method throws, no sweep was scheduled, and the sender must end the request.
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
        return; // the redundant sweep will find no overdue request
      }
    }
  }

  /** A timer task that ends overdue requests and schedules the next sweep. */
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
        } catch (Throwable e) { // no memory for a timer: ends all requests at once
          requests.end(timing.nanoTime() + AFTER_ALL_NANOS);
        }
      }
    }
  }
}
