// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.List;

/** A store under simulation, behind the class loader that instruments it. */
public interface InstrumentedStore {

  /**
   * Carries out a call on the calling thread of the simulation.
   *
   * @param op a charge or a snapshot
   * @return its answer
   */
  Answer run(Op op);

  /**
   * Checks the store after all calls have ended.
   *
   * @return what is wrong with the remaining state, empty if nothing is
   */
  String leftovers();

  /** The clock of a run, without synchronization: the threads of a simulation take turns. */
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
   * @param failure the class and message of the exception; empty for none
   * @param nowNanos the store's current time, for each charge
   * @param tatNanos for each charge, the TAT before it; of a snapshot, the TAT of each key, 0 where
   *     absent
   */
  public record Answer(String failure, List<Long> nowNanos, List<Long> tatNanos) {

    /** The failure of a call that the store refused since it has reached its bound. */
    public static final String FULL = "full";

    /** The failure of a batch that names a bucket twice. */
    public static final String TWICE = "twice";

    /**
     * Returns the answer to a call that threw.
     *
     * @param what {@link #FULL}, {@link #TWICE}, or the exception
     * @return the answer
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
