// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The deadlines of a lane. All requests have the same time-out, so the oldest is due first: one
 * timer a lane, armed only while something is outstanding, ends what is overdue wherever it is.
 *
 * <p>What a sweep throws (a class may be missing, the heap full) is left to the next sweep, and
 * there always is a next one while something is outstanding. A timer is set before anybody relies
 * on it, since setting it may throw as well. Thread-safe; no method blocks.
 */
final class Deadlines {

  private static final long SWEEP_AT_LEAST_NANOS = 1_000_000;
  private static final long AFTER_ALL_NANOS = Long.MAX_VALUE / 2;

  /** The requests of a lane that have not ended. */
  interface Requests {

    /** Ends those that are overdue. */
    void end(long nanoTime);

    /** Returns the one that is due next, null where there is none. */
    @Nullable Request oldest();

    /** Goes on after a sweep: places may be free. */
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
   * Sees to a sweep when a request is due, where none comes by then. If it throws, none was armed
   * for the request, which its sender must end.
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
        return; // and the one that was just set finds nothing to do
      }
    }
  }

  /** A timer that ends what is overdue, and comes again for the next that will be. */
  private final class Sweep implements Runnable {
    private final Request due;
    private volatile boolean hasEnded; // nobody may rely on it any more

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
        } catch (Throwable e) { // no memory: too early is better than never
          requests.end(timing.nanoTime() + AFTER_ALL_NANOS);
        }
      }
    }
  }
}
