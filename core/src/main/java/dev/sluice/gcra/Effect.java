// SPDX-License-Identifier: Apache-2.0
package dev.sluice.gcra;

/**
 * The effect of a charge on any bucket: whether it fits, and what it leaves behind.
 *
 * <p>Immutable and thread-safe; no method allocates. The methods are the whole law of a store.
 * Every store on the JVM shares them, and every other one (a script in a server) has one text to
 * follow.
 *
 * @param op what is to be done
 * @param incrementNanos the time that the operation adds to the TAT or gives back, 0 to {@code
 *     offsetNanos}; 0 for a reset
 * @param offsetNanos the burst offset τ of the bucket's limit, positive; 0 for a reset
 * @param untilNanos for a {@link Op#REFUND} the instant, unsigned, from which there is nothing left
 *     to give back: at most {@code untilNanos − now} is refunded. {@link #NO_END} for none. For a
 *     {@link Op#WITHDRAW} the TAT, unsigned, that the bucket must still have.
 */
public record Effect(Op op, long incrementNanos, long offsetNanos, long untilNanos) {

  /** The {@link #untilNanos} of an operation without an end: the end of unsigned time. */
  public static final long NO_END = -1L;

  /** Forgets the bucket. */
  public static final Effect RESET = of(Op.RESET, 0, 0);

  /**
   * Returns an effect without an end.
   *
   * @param op what is to be done
   * @param incrementNanos as in the constructor
   * @param offsetNanos as in the constructor
   * @return the effect
   */
  public static Effect of(Op op, long incrementNanos, long offsetNanos) {
    return new Effect(op, incrementNanos, offsetNanos, NO_END);
  }

  /**
   * Returns whether the increment fits into the bucket. Of interest for an operation that spends or
   * checks.
   *
   * @param nowNanos the store's present
   * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
   * @return false if the operation would have to be denied
   */
  public boolean fits(long nowNanos, long tatNanos) {
    return roomNanos(nowNanos, tatNanos) >= 0;
  }

  /**
   * Returns what would be left of the burst offset after the operation.
   *
   * @param nowNanos the store's present
   * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
   * @return as {@link Gcra#roomNanos}: negative where the operation must be denied
   */
  public long roomNanos(long nowNanos, long tatNanos) {
    long aheadNanos = Gcra.aheadNanos(nowNanos, tatNanos);
    return Gcra.roomNanos(
        op == Op.FORGIVE ? Math.min(aheadNanos, offsetNanos) : aheadNanos,
        incrementNanos,
        offsetNanos);
  }

  /**
   * Returns whether the bucket is in debt: its TAT lies further ahead than the bucket is deep.
   *
   * @param nowNanos the store's present
   * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
   * @return true if the TAT is later than now + τ
   */
  public boolean isInDebt(long nowNanos, long tatNanos) {
    return Gcra.isInDebt(nowNanos, tatNanos, offsetNanos);
  }

  /**
   * Returns whether the operation lets its batch pass.
   *
   * @param nowNanos the store's present
   * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
   * @return false only where the operation votes and does not fit
   */
  public boolean passes(long nowNanos, long tatNanos) {
    return !op.votes() || fits(nowNanos, tatNanos);
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
    return switch (op) {
      case CHECK -> tatNanos;
      case RESET -> batchPasses ? Gcra.NO_TAT : tatNanos;
      case SPEND, SPEND_ONLY -> spentNanos(nowNanos, tatNanos, batchPasses);
      case FORGIVE -> spentNanos(nowNanos, forgivenNanos(nowNanos, tatNanos), batchPasses);
      case REFUND -> batchPasses ? refundedNanos(nowNanos, tatNanos) : tatNanos;
      case WITHDRAW ->
          batchPasses && tatNanos == untilNanos
              ? loweredNanos(nowNanos, tatNanos, incrementNanos)
              : tatNanos;
    };
  }

  /** A spend that is denied, and one of nothing, leave the TAT alone. */
  private long spentNanos(long nowNanos, long tatNanos, boolean batchPasses) {
    return batchPasses && incrementNanos > 0 && fits(nowNanos, tatNanos)
        ? nowNanos + Gcra.aheadNanos(nowNanos, tatNanos) + incrementNanos
        : tatNanos;
  }

  private long forgivenNanos(long nowNanos, long tatNanos) {
    return isInDebt(nowNanos, tatNanos) ? nowNanos + offsetNanos : tatNanos;
  }

  private long refundedNanos(long nowNanos, long tatNanos) {
    return loweredNanos(nowNanos, tatNanos, refundableNanos(nowNanos));
  }

  private static long loweredNanos(long nowNanos, long tatNanos, long refundNanos) {
    if (refundNanos == 0 || Long.compareUnsigned(tatNanos, nowNanos) <= 0) {
      return tatNanos;
    }
    return Long.compareUnsigned(tatNanos - nowNanos, refundNanos) <= 0
        ? nowNanos
        : tatNanos - refundNanos;
  }

  private long refundableNanos(long nowNanos) {
    if (Long.compareUnsigned(untilNanos, nowNanos) <= 0) {
      return 0;
    }
    long leftNanos = untilNanos - nowNanos;
    return Long.compareUnsigned(leftNanos, incrementNanos) < 0 ? leftNanos : incrementNanos;
  }

  /** The operations on a bucket. */
  public enum Op {
    /** Looks whether the increment fits; denies its batch if not, and never writes. */
    CHECK(true, false),
    /** Spends if the whole batch passes; denies its batch if the increment does not fit. */
    SPEND(true, true),
    /** Spends if the whole batch passes and the increment fits; never denies. */
    SPEND_ONLY(false, true),
    /**
     * Spends as {@link #SPEND} does, after a TAT beyond now + τ was lowered to now + τ. What it
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
     * the one that the spend left ({@link Effect#untilNanos()}), and does nothing otherwise. Never
     * over a full bucket.
     */
    WITHDRAW(false, true);

    private final boolean votes;
    private final boolean writes;

    Op(boolean votes, boolean writes) {
      this.votes = votes;
      this.writes = writes;
    }

    /**
     * Returns whether the operation may deny its batch.
     *
     * @return true for {@link #CHECK}, {@link #SPEND} and {@link #FORGIVE}
     */
    public boolean votes() {
      return votes;
    }

    /**
     * Returns whether the operation may change the store.
     *
     * @return false for {@link #CHECK}
     */
    public boolean writes() {
      return writes;
    }

    /**
     * Returns whether the operation may leave more in a bucket than it found.
     *
     * @return false for what only looks or spends
     */
    public boolean loosens() {
      return this == REFUND || this == RESET || this == FORGIVE || this == WITHDRAW;
    }

    /**
     * Returns whether the operation goes by {@link Effect#untilNanos()}.
     *
     * @return true for {@link #REFUND} and {@link #WITHDRAW}
     */
    public boolean hasEnd() {
      return this == REFUND || this == WITHDRAW;
    }
  }
}
