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
    long countedNanos =
        act == Act.FORGIVE ? forgivenNanos(offsetNanos, nowNanos, tatNanos) : tatNanos;
    return !act.votes() || fits(incrementNanos, offsetNanos, nowNanos, countedNanos);
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
      case FORGIVE ->
          spentNanos(
              incrementNanos,
              offsetNanos,
              nowNanos,
              forgivenNanos(offsetNanos, nowNanos, tatNanos),
              batchPasses);
      case REFUND ->
          batchPasses ? refundedNanos(incrementNanos, untilNanos, nowNanos, tatNanos) : tatNanos;
    };
  }

  /** A spend that is denied, and one of nothing, leave the TAT alone. */
  private static long spentNanos(
      long incrementNanos, long offsetNanos, long nowNanos, long tatNanos, boolean batchPasses) {
    return batchPasses
            && incrementNanos > 0
            && fits(incrementNanos, offsetNanos, nowNanos, tatNanos)
        ? nowNanos + Gcra.aheadNanos(nowNanos, tatNanos) + incrementNanos
        : tatNanos;
  }

  static long forgivenNanos(long offsetNanos, long nowNanos, long tatNanos) {
    return Gcra.isInDebt(nowNanos, tatNanos, offsetNanos) ? nowNanos + offsetNanos : tatNanos;
  }

  private static long refundedNanos(
      long incrementNanos, long untilNanos, long nowNanos, long tatNanos) {
    long refundNanos = refundableNanos(incrementNanos, untilNanos, nowNanos);
    if (refundNanos == 0 || Long.compareUnsigned(tatNanos, nowNanos) <= 0) {
      return tatNanos;
    }
    return Long.compareUnsigned(tatNanos - nowNanos, refundNanos) <= 0
        ? nowNanos
        : tatNanos - refundNanos;
  }

  private static long refundableNanos(long incrementNanos, long untilNanos, long nowNanos) {
    if (Long.compareUnsigned(untilNanos, nowNanos) <= 0) {
      return 0;
    }
    long leftNanos = untilNanos - nowNanos;
    return Long.compareUnsigned(leftNanos, incrementNanos) < 0 ? leftNanos : incrementNanos;
  }

  private static boolean fits(long incrementNanos, long offsetNanos, long nowNanos, long tatNanos) {
    long aheadNanos = Gcra.aheadNanos(nowNanos, tatNanos);
    return Gcra.roomNanos(aheadNanos, incrementNanos, offsetNanos) >= 0;
  }
}
