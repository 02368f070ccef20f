package dev.sluice.store;

import dev.sluice.gcra.Gcra;

/**
 * One act on one bucket, as plain data: all that a store needs to know.
 *
 * <p>Immutable and thread-safe. The two methods are the whole law of a store, so that every store
 * on the JVM shares them and every other one (a script in a server) has one text to follow.
 *
 * @param key the bucket key, not empty; opaque to the store
 * @param act what is to be done
 * @param incrementNanos the time that the act adds to the TAT or gives back, 0 to {@code
 *     offsetNanos}; 0 for a reset
 * @param offsetNanos the burst offset τ of the bucket's limit, positive; 0 for a reset
 * @param untilNanos for a {@link Act#REFUND} the instant, unsigned, from which there is nothing
 *     left to give back: at most {@code untilNanos − now} is refunded. {@link #NO_END} for none.
 */
public record Charge(String key, Act act, long incrementNanos, long offsetNanos, long untilNanos) {

  /** The {@link #untilNanos} of a refund that does not expire: the end of unsigned time. */
  public static final long NO_END = -1L;

  /**
   * Whether the act lets its batch pass.
   *
   * @param nowNanos the store's present
   * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
   * @return false only where the act votes and does not fit
   */
  public boolean passes(long nowNanos, long tatNanos) {
    return Law.passes(act, incrementNanos, offsetNanos, nowNanos, tatNanos);
  }

  /**
   * The TAT that the store keeps afterwards.
   *
   * @param nowNanos the store's present
   * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
   * @param batchPasses whether every charge of the batch {@link #passes}
   * @return the TAT to keep, {@code tatNanos} itself where nothing is to be written, {@link
   *     Gcra#NO_TAT} (or any instant that is not after now) where the bucket is to be forgotten
   */
  public long tatAfterNanos(long nowNanos, long tatNanos, boolean batchPasses) {
    return Law.tatAfterNanos(
        act, incrementNanos, offsetNanos, untilNanos, nowNanos, tatNanos, batchPasses);
  }

  /** What a charge does. */
  public enum Act {
    /** Looks whether the increment fits; denies its batch if not, and never writes. */
    CHECK(true, false),
    /** Spends if the whole batch passes; denies its batch if the increment does not fit. */
    SPEND(true, true),
    /** Spends if the whole batch passes and the increment fits; never denies. */
    SPEND_ONLY(false, true),
    /**
     * Spends as {@link #SPEND} does, after a TAT beyond now + τ was lowered to now + τ: what it
     * finds counts as an empty bucket, and is made one even where the spend is denied. Only for a
     * batch of one; how often a debt may be forgiven is the caller's to bound.
     */
    FORGIVE(true, true),
    /** Gives back, never over a full bucket; makes no bucket. */
    REFUND(false, true),
    /** Forgets the bucket. */
    RESET(false, true);

    private final boolean votes;
    private final boolean writes;

    Act(boolean votes, boolean writes) {
      this.votes = votes;
      this.writes = writes;
    }

    /**
     * Whether the act may deny its batch.
     *
     * @return true for {@link #CHECK} and {@link #SPEND}
     */
    public boolean votes() {
      return votes;
    }

    /**
     * Whether the act may change the store.
     *
     * @return false for {@link #CHECK}
     */
    public boolean writes() {
      return writes;
    }
  }
}
