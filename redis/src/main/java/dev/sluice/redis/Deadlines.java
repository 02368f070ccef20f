// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The deadlines of a lane. All requests have the same time-out, so the oldest is due first: one
 * timer a lane, armed only while something is outstanding, ends what is overdue wherever it is.
 *
 * <p>What a sweep throws (a class may be missing, the heap full) is left to the next sweep, and
 * there always is a next one while something is outstanding. Thread-safe; no method blocks.
 */
final class Deadlines {

  private static final long SWEEP_AT_LEAST_NANOS = 1_000_000;

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
  private final AtomicReference<@Nullable Request> sweepFor = new AtomicReference<>();

  Deadlines(Timing timing, Requests requests) {
    this.timing = timing;
    this.requests = requests;
  }

  boolean isArmed() {
    return sweepFor.get() != null;
  }

  /** Sees to a sweep when a request is due, where none comes by then. */
  void arm(Request due) {
    Request armed = sweepFor.get();
    while (armed == null || armed.deadline - due.deadline > SWEEP_AT_LEAST_NANOS) {
      if (sweepFor.compareAndSet(armed, due)) {
        long nanos = Math.max(due.deadline - timing.nanoTime(), SWEEP_AT_LEAST_NANOS);
        requests.after(nanos, () -> sweep(due));
        return;
      }
      armed = sweepFor.get();
    }
  }

  /** Ends what is overdue, and comes again for the next that will be. */
  private void sweep(Request due) {
    if (sweepFor.get() != due) {
      return; // an earlier one took its place
    }
    try {
      requests.end(timing.nanoTime());
    } finally {
      sweepFor.compareAndSet(due, null);
      Request oldest = requests.oldest();
      if (oldest != null) {
        arm(oldest);
      }
      requests.swept();
    }
  }
}
