package dev.sluice;

import dev.sluice.gcra.Quota;
import dev.sluice.store.Charge;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The tokens that a {@link Reservation} took and can still give back, as plain values: for a caller
 * that cancels elsewhere, in another process with the same store and limits.
 *
 * <p>A process that cancels with a receipt does not know what else was given back since, so {@link
 * Limiter#cancel(Receipt)} is less exact than {@link Reservation#cancel()}: it gives back what was
 * taken and would not have been refilled by now if nothing else had been given back. It never
 * overfills a bucket. Nothing here prevents that a receipt is used twice; that is the caller's to
 * see to.
 *
 * <p>Immutable and thread-safe.
 *
 * @param parts one for each bucket; none where nothing is left to give back
 */
public record Receipt(List<Part> parts) {

  /**
   * Makes a receipt.
   *
   * @param parts copied
   */
  public Receipt {
    parts = List.copyOf(parts);
  }

  /**
   * The tokens taken from one bucket.
   *
   * @param transaction which bucket, at what cost
   * @param intervalNanos the emission interval by which it was taken: what a token is worth,
   *     positive; times the cost it fits into 64 bits
   * @param untilNanos the instant by the store's clock, in unsigned nanoseconds since the Unix
   *     epoch, from which nothing is left to give back: the TAT that the spend left behind
   */
  public record Part(Transaction transaction, long intervalNanos, long untilNanos) {

    /**
     * Makes a part.
     *
     * @param transaction which bucket, at what cost
     * @param intervalNanos what a token is worth
     * @param untilNanos from when on nothing is left
     * @throws IllegalArgumentException for an interval out of its range
     */
    public Part {
      Objects.requireNonNull(transaction, "transaction");
      long cost = transaction.cost();
      if (intervalNanos <= 0 || (cost > 0 && intervalNanos > Long.MAX_VALUE / cost)) {
        throw new IllegalArgumentException(
            "intervalNanos: found %s at cost %s, expected a positive number, which times the cost fits into 64 bits"
                .formatted(intervalNanos, cost));
      }
    }
  }

  /**
   * Returns the refunds, under the limits that hold now. An id that nothing limits any more gets
   * none.
   */
  List<Charge> refunds(Function<Transaction, @Nullable Quota> present) {
    List<Charge> refunds = new ArrayList<>(parts.size());
    for (Part part : parts) {
      Quota quota = present.apply(part.transaction);
      if (quota != null) {
        long worthNanos =
            Math.min(part.intervalNanos, quota.intervalNanos()) * part.transaction.cost();
        refunds.add(
            new Charge(
                part.transaction.bucketKey(),
                Charge.Act.REFUND,
                Math.min(worthNanos, quota.offsetNanos()),
                quota.offsetNanos(),
                part.untilNanos));
      }
    }
    return refunds;
  }
}
