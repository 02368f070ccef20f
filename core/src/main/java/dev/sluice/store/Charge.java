package dev.sluice.store;

import dev.sluice.gcra.Gcra;

/**
 * One act on one bucket, as plain data: all that a store needs to know.
 *
 * <p>Immutable and thread-safe.
 *
 * @param key the bucket key, not empty; opaque to the store
 * @param effect what is to be done
 */
public record Charge(String key, Effect effect) {

  /** The {@link #untilNanos} of an act without an end: the end of unsigned time. */
  public static final long NO_END = -1L;

  /**
   * Makes a charge of the parts of its effect.
   *
   * @param key the bucket key, not empty; opaque to the store
   * @param act as in {@link Effect}
   * @param incrementNanos as in {@link Effect}
   * @param offsetNanos as in {@link Effect}
   * @param untilNanos as in {@link Effect}
   */
  public Charge(String key, Act act, long incrementNanos, long offsetNanos, long untilNanos) {
    this(key, new Effect(act, incrementNanos, offsetNanos, untilNanos));
  }

  /**
   * Returns the act.
   *
   * @return the effect's act
   */
  public Act act() {
    return effect.act();
  }

  /**
   * The time that the act adds to the TAT or gives back.
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
   * @param nowNanos the store's present
   * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
   * @return false only where the act votes and does not fit
   */
  public boolean passes(long nowNanos, long tatNanos) {
    return effect.passes(nowNanos, tatNanos);
  }

  /**
   * As {@link Effect#tatAfterNanos}.
   *
   * @param nowNanos the store's present
   * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
   * @param batchPasses whether every charge of the batch {@link #passes}
   * @return the TAT to keep
   */
  public long tatAfterNanos(long nowNanos, long tatNanos, boolean batchPasses) {
    return effect.tatAfterNanos(nowNanos, tatNanos, batchPasses);
  }

  /** The acts of a charge. */
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
    RESET(false, true),
    /**
     * Takes a spend back that nothing has followed: gives the increment back if the TAT still is
     * the one that the spend left ({@link Effect#untilNanos}), and does nothing otherwise. Never
     * over a full bucket.
     */
    WITHDRAW(false, true);

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

    /**
     * Whether the act may leave more in a bucket than it found.
     *
     * @return false for what only looks or spends
     */
    public boolean loosens() {
      return this == REFUND || this == RESET || this == FORGIVE || this == WITHDRAW;
    }

    /**
     * Whether the act goes by {@link Effect#untilNanos}.
     *
     * @return true for {@link #REFUND} and {@link #WITHDRAW}
     */
    public boolean hasEnd() {
      return this == REFUND || this == WITHDRAW;
    }
  }
}
