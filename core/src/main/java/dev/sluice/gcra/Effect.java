// SPDX-License-Identifier: Apache-2.0
package dev.sluice.gcra;

/**
 * The effect of a charge on a bucket: whether the charge fits, and the TAT after the charge.
 *
 * <p>No method allocates. The methods contain all arithmetic that a store needs. A store on the JVM
 * calls the methods of this class; a store that computes elsewhere, such as in a Redis script, must
 * compute the same results.
 *
 * @param op the operation
 * @param incrementNanos the time by which the operation moves the TAT, 0 to {@code offsetNanos}: a
 *     spend moves the TAT forward, a refund moves the TAT back; 0 for a reset
 * @param offsetNanos the burst offset τ of the bucket's limit, positive; 0 for a reset
 * @param untilNanos an unsigned number, whose meaning depends on the operation. For a {@link
 *     Op#REFUND}, the instant at which the refund expires: before this instant, at most {@code
 *     untilNanos − now} is refunded; {@link #NO_END} refunds the whole increment at any time. For a
 *     {@link Op#WITHDRAW}, the TAT that the spend left: a bucket with any other TAT is not changed.
 *     For a {@link Op#SPEND_UP_TO}, the emission interval of the limit.
 */
public record Effect(Op op, long incrementNanos, long offsetNanos, long untilNanos) {

  /**
   * The largest unsigned value: the {@link #untilNanos} of a refund that never expires, and of
   * every operation that ignores {@code untilNanos}.
   */
  public static final long NO_END = -1L;

  /** Resets the bucket to full. */
  public static final Effect RESET = of(Op.RESET, 0, 0);

  /**
   * Creates an effect.
   *
   * @param op see above
   * @param incrementNanos see above
   * @param offsetNanos see above
   * @param untilNanos see above
   * @throws IllegalArgumentException if the increment of a {@link Op#SPEND_UP_TO} is smaller than
   *     its emission interval
   */
  public Effect {
    if (op == Op.SPEND_UP_TO && (untilNanos <= 0 || incrementNanos < untilNanos)) {
      throw new IllegalArgumentException(
          "found an increment of %s ns and an emission interval of %s ns, expected increment >= interval > 0"
              .formatted(incrementNanos, untilNanos));
    }
  }

  /**
   * Returns an effect with {@link #NO_END}.
   *
   * @param op the operation
   * @param incrementNanos see the constructor
   * @param offsetNanos see the constructor
   * @return the effect
   */
  public static Effect of(Op op, long incrementNanos, long offsetNanos) {
    return new Effect(op, incrementNanos, offsetNanos, NO_END);
  }

  /**
   * Returns whether the increment of a spend or check fits into the bucket.
   *
   * @param nowNanos the store's current time
   * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
   * @return false if the operation must be denied
   */
  public boolean fits(long nowNanos, long tatNanos) {
    return roomNanos(nowNanos, tatNanos) >= 0;
  }

  /**
   * Returns the time from the TAT after the operation to now + τ, the latest TAT that is allowed.
   *
   * @param nowNanos the store's current time
   * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
   * @return the value of {@link Gcra#roomNanos}, negative if the operation must be denied
   */
  public long roomNanos(long nowNanos, long tatNanos) {
    long aheadNanos = Gcra.aheadNanos(nowNanos, tatNanos);
    return Gcra.roomNanos(
        op == Op.FORGIVE ? Math.min(aheadNanos, offsetNanos) : aheadNanos,
        neededNanos(aheadNanos),
        offsetNanos);
  }

  /**
   * Converts a {@link Op#SPEND_UP_TO} to the spend that has the same result on the given bucket: a
   * spend of all tokens that the bucket has, up to the increment. For an empty bucket, returns a
   * spend of one token, which is denied.
   *
   * @param nowNanos the store's current time
   * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
   * @return the spend; this effect itself if its operation is not {@link Op#SPEND_UP_TO}
   */
  public Effect asSpend(long nowNanos, long tatNanos) {
    return op == Op.SPEND_UP_TO
        ? of(Op.SPEND, neededNanos(Gcra.aheadNanos(nowNanos, tatNanos)), offsetNanos)
        : this;
  }

  /**
   * Returns by how much the operation would move the TAT, if the operation is a spend or a check.
   */
  private long neededNanos(long aheadNanos) {
    long freeNanos = offsetNanos - aheadNanos;
    return op != Op.SPEND_UP_TO || freeNanos >= incrementNanos
        ? incrementNanos
        : Math.max(freeNanos - freeNanos % untilNanos, untilNanos);
  }

  /**
   * Returns whether the bucket is in debt: its TAT is later than now + τ.
   *
   * @param nowNanos the store's current time
   * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
   * @return true if the TAT is later than now + τ
   */
  public boolean isInDebt(long nowNanos, long tatNanos) {
    return Gcra.isInDebt(nowNanos, tatNanos, offsetNanos);
  }

  /**
   * Returns whether this operation lets its batch pass. The batch is allowed if all its operations
   * let the batch pass.
   *
   * @param nowNanos the store's current time
   * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
   * @return false only if the operation can deny its batch and its increment does not fit into the
   *     bucket
   */
  public boolean passes(long nowNanos, long tatNanos) {
    return !op.votes() || fits(nowNanos, tatNanos);
  }

  /**
   * Returns the TAT after the operation.
   *
   * @param nowNanos the store's current time
   * @param tatNanos the stored TAT, unsigned, {@link Gcra#NO_TAT} for none
   * @param batchPasses whether every charge of the batch {@link #passes}
   * @return the TAT to store; {@code tatNanos} itself if the bucket does not change; {@link
   *     Gcra#NO_TAT} or any instant not after now if the bucket is full and can be removed
   */
  public long tatAfterNanos(long nowNanos, long tatNanos, boolean batchPasses) {
    return switch (op) {
      case CHECK -> tatNanos;
      case RESET -> batchPasses ? Gcra.NO_TAT : tatNanos;
      case SPEND, SPEND_ONLY, SPEND_UP_TO -> spentNanos(nowNanos, tatNanos, batchPasses);
      case FORGIVE -> spentNanos(nowNanos, forgivenNanos(nowNanos, tatNanos), batchPasses);
      case REFUND -> batchPasses ? refundedNanos(nowNanos, tatNanos) : tatNanos;
      case WITHDRAW ->
          batchPasses && tatNanos == untilNanos
              ? loweredNanos(nowNanos, tatNanos, incrementNanos)
              : tatNanos;
    };
  }

  /** Returns the TAT after a spend. A denied spend, and a spend of 0, do not change the TAT. */
  private long spentNanos(long nowNanos, long tatNanos, boolean batchPasses) {
    if (!batchPasses || incrementNanos == 0 || !fits(nowNanos, tatNanos)) {
      return tatNanos;
    }
    long aheadNanos = Gcra.aheadNanos(nowNanos, tatNanos);
    return nowNanos + aheadNanos + neededNanos(aheadNanos);
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
    /** Denies the batch if the increment does not fit; never changes the bucket. */
    CHECK(true, false),
    /**
     * Spends the increment if the batch is allowed; denies the batch if the increment does not fit.
     */
    SPEND(true, true),
    /**
     * Spends the increment if the batch is allowed and the increment fits; never denies the batch.
     */
    SPEND_ONLY(false, true),
    /**
     * Forgives the bucket's debt, and then spends like {@link #SPEND}. To forgive a debt, a TAT
     * later than now + τ is lowered to now + τ, even if the spend is denied. The operation is valid
     * only in a batch with one charge. The caller must bound how often the debt of a bucket is
     * forgiven.
     */
    FORGIVE(true, true),
    /** Gives tokens back, but never overfills a bucket and never creates one. */
    REFUND(false, true),
    /** Resets the bucket to full. */
    RESET(false, true),
    /**
     * Reverts a spend if the bucket has not changed since the spend. If the TAT equals {@link
     * Effect#untilNanos()}, gives the increment back, but never overfills the bucket. Otherwise
     * does nothing.
     */
    WITHDRAW(false, true),
    /**
     * Spends all whole tokens that fit, at most the increment; denies the batch if no token fits.
     * The operation's {@link Effect#untilNanos()} must be the limit's emission interval. The
     * operation is valid only in a batch with one charge.
     */
    SPEND_UP_TO(true, true);

    private final boolean votes;
    private final boolean writes;

    Op(boolean votes, boolean writes) {
      this.votes = votes;
      this.writes = writes;
    }

    /**
     * Returns whether the operation can deny its batch.
     *
     * @return true for {@link #CHECK}, {@link #SPEND}, {@link #FORGIVE} and {@link #SPEND_UP_TO}
     */
    public boolean votes() {
      return votes;
    }

    /**
     * Returns whether the operation can change the bucket.
     *
     * @return false for {@link #CHECK}
     */
    public boolean writes() {
      return writes;
    }

    /**
     * Returns whether the operation can add tokens to a bucket.
     *
     * @return false for operations that only check or spend
     */
    public boolean loosens() {
      return this == REFUND || this == RESET || this == FORGIVE || this == WITHDRAW;
    }

    /**
     * Returns whether the operation uses {@link Effect#untilNanos()}.
     *
     * @return true for {@link #REFUND}, {@link #WITHDRAW} and {@link #SPEND_UP_TO}
     */
    public boolean hasEnd() {
      return this == REFUND || this == WITHDRAW || this == SPEND_UP_TO;
    }
  }
}
