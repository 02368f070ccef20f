// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.List;

/**
 * A store whose classes were instrumented, so that a simulation can schedule the store's threads.
 */
public interface InstrumentedStore {

  /**
   * Runs a call to the store on the current thread of the simulation.
   *
   * @param op a charge or a snapshot
   */
  Answer run(Op op);

  /**
   * Checks the state of the store after all calls have ended.
   *
   * @return a description of the fault; empty if the state is correct
   */
  String leftovers();

  /**
   * The clock of a run. The clock needs no synchronization, since only one thread of a simulation
   * runs at a time.
   */
  public static final class Clock {

    private long nowNanos = Setup.START_NANOS;

    Clock() {}

    /**
     * Returns the current time.
     *
     * @return nanoseconds since the epoch
     */
    public long nanos() {
      return nowNanos;
    }

    void move(long nanos) {
      nowNanos += nanos;
    }
  }

  /**
   * The result of a call.
   *
   * @param failure the class and message of the exception; empty if the call did not throw
   * @param nowNanos for each charge, the current time that the store used
   * @param tatNanos for each charge, the TAT before the charge; for a snapshot, the TAT of each
   *     key, or 0 for a key that the snapshot does not contain
   */
  public record Answer(String failure, List<Long> nowNanos, List<Long> tatNanos) {

    /** The failure of a call that needs a new bucket while the store is full. */
    public static final String FULL = "full";

    /** The failure of a batch that contains the same bucket twice. */
    public static final String TWICE = "twice";

    /**
     * Returns the result of a call that threw an exception.
     *
     * @param what the failure: {@link #FULL}, {@link #TWICE}, or the text of the exception
     */
    public static Answer failed(String what) {
      return new Answer(what, List.of(), List.of());
    }

    @Override
    public String toString() {
      return failure.isEmpty() ? "now " + nowNanos + ", TATs before " + tatNanos : failure;
    }
  }
}
