// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;

/**
 * One operation on one bucket, as plain data: all that a store needs to know.
 *
 * <p>Immutable and thread-safe.
 *
 * @param key the bucket key, not empty; opaque to the store
 * @param effect what is to be done
 */
public record Charge(String key, Effect effect) {

  /**
   * Makes a charge of the parts of its effect.
   *
   * @param key the bucket key, not empty; opaque to the store
   * @param op as in {@link Effect}
   * @param incrementNanos as in {@link Effect}
   * @param offsetNanos as in {@link Effect}
   * @param untilNanos as in {@link Effect}
   */
  public Charge(String key, Op op, long incrementNanos, long offsetNanos, long untilNanos) {
    this(key, new Effect(op, incrementNanos, offsetNanos, untilNanos));
  }

  /**
   * Returns the operation.
   *
   * @return the effect's operation
   */
  public Op op() {
    return effect.op();
  }

  /**
   * The time that the operation adds to the TAT or gives back.
   *
   * @return the effect's increment
   */
  public long incrementNanos() {
    return effect.incrementNanos();
  }

  /**
   * The burst offset τ of the bucket's limit.
   *
   * @return the effect's offset
   */
  public long offsetNanos() {
    return effect.offsetNanos();
  }

  /**
   * The instant from which a refund gives nothing back, or the TAT that a withdrawal expects.
   *
   * @return the effect's end, unsigned
   */
  public long untilNanos() {
    return effect.untilNanos();
  }

  /**
   * As {@link Effect#passes}.
   *
   * @param nowNanos the store's current time
   * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
   * @return false only where the operation votes and does not fit
   */
  public boolean passes(long nowNanos, long tatNanos) {
    return effect.passes(nowNanos, tatNanos);
  }

  /**
   * As {@link Effect#tatAfterNanos}.
   *
   * @param nowNanos the store's current time
   * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
   * @param batchPasses whether every charge of the batch {@link #passes}
   * @return the TAT to keep
   */
  public long tatAfterNanos(long nowNanos, long tatNanos, boolean batchPasses) {
    return effect.tatAfterNanos(nowNanos, tatNanos, batchPasses);
  }
}
