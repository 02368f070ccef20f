// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import java.util.List;

/**
 * The result of a call.
 *
 * @param failure the class and message of what was thrown, empty for none
 * @param nowNanos the store's present, for each charge
 * @param tatNanos the TAT before, for each charge; of a snapshot: of each key, 0 where it is absent
 */
public record Answer(String failure, List<Long> nowNanos, List<Long> tatNanos) {

  /** The failure of a store that has reached its bound. */
  public static final String FULL = "full";

  /** The failure of a batch that names a bucket twice. */
  public static final String TWICE = "twice";

  /**
   * A call that threw.
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
