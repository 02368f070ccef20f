package dev.sluice.store;

import dev.sluice.gcra.Gcra;
import dev.sluice.store.Charge.Act;

/**
 * The law of a store, for those who have no {@link Charge} at hand because they make no object:
 * what {@link Charge#passes} and {@link Charge#tatAfterNanos} say, on bare numbers.
 *
 * <p>Stateless, thread-safe, never blocking, allocating nothing.
 */
final class Law {

  private Law() {}

  static boolean passes(
      Act act, long incrementNanos, long offsetNanos, long nowNanos, long tatNanos) {
    return !act.votes() || fits(incrementNanos, offsetNanos, nowNanos, tatNanos);
  }

  static long tatAfterNanos(
      Act act,
      long incrementNanos,
      long offsetNanos,
      long untilNanos,
      long nowNanos,
      long tatNanos,
      boolean batchPasses) {
    return switch (act) {
      case CHECK -> tatNanos;
      case RESET -> batchPasses ? Gcra.NO_TAT : tatNanos;
      case SPEND, SPEND_ONLY ->
          spentNanos(incrementNanos, offsetNanos, nowNanos, tatNanos, batchPasses);
      case REFUND ->
          batchPasses
              ? refundedNanos(incrementNanos, offsetNanos, untilNanos, nowNanos, tatNanos)
              : tatNanos;
    };
  }

  private static long spentNanos(
      long incrementNanos, long offsetNanos, long nowNanos, long tatNanos, boolean batchPasses) {
    long aheadNanos = Gcra.aheadNanos(nowNanos, tatNanos, offsetNanos);
    if (batchPasses && Gcra.roomNanos(aheadNanos, incrementNanos, offsetNanos) >= 0) {
      return incrementNanos == 0 && aheadNanos == 0
          ? tatNanos // a full bucket stays unwritten
          : nowNanos + aheadNanos + incrementNanos;
    }
    // A denied spend changes nothing but a TAT beyond now + τ. That counts as an empty bucket,
    // and is made one, or the promised wait would start anew with every attempt.
    return aheadNanos == offsetNanos ? nowNanos + offsetNanos : tatNanos;
  }

  private static long refundedNanos(
      long incrementNanos, long offsetNanos, long untilNanos, long nowNanos, long tatNanos) {
    long aheadNanos = Gcra.aheadNanos(nowNanos, tatNanos, offsetNanos);
    long refundNanos = refundableNanos(incrementNanos, untilNanos, nowNanos);
    return aheadNanos > 0 && refundNanos > 0
        ? nowNanos + Gcra.aheadAfterRefundNanos(aheadNanos, refundNanos)
        : tatNanos;
  }

  private static long refundableNanos(long incrementNanos, long untilNanos, long nowNanos) {
    if (Long.compareUnsigned(untilNanos, nowNanos) <= 0) {
      return 0;
    }
    long leftNanos = untilNanos - nowNanos;
    return Long.compareUnsigned(leftNanos, incrementNanos) < 0 ? leftNanos : incrementNanos;
  }

  private static boolean fits(long incrementNanos, long offsetNanos, long nowNanos, long tatNanos) {
    long aheadNanos = Gcra.aheadNanos(nowNanos, tatNanos, offsetNanos);
    return Gcra.roomNanos(aheadNanos, incrementNanos, offsetNanos) >= 0;
  }
}
