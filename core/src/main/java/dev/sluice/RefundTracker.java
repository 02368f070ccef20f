// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.RefundStripe.Lowering;
import dev.sluice.RefundStripe.Stretch;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import dev.sluice.store.TimeSource;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The reservations of a limiter that can still give something back, by bucket, and the refunds that
 * are in flight. The essay in {@link Reservation} says what a cancellation gives back, the one in
 * {@link RefundStripe} what refunds in flight change about it.
 *
 * <p>Bounded: a stretch whose tokens have come back is forgotten by the calls that come after it,
 * two for each. So is a refund of unknown fate that no server can apply any more. Beyond {@link
 * #MOST} open stretches the oldest is settled as spent. Thread-safe; blocks for a few instructions
 * only. Every act costs O(log n) with n stretches of its bucket.
 */
final class RefundTracker {

  /** How many stretches may be open. */
  static final int MOST = 1_000_000;

  private static final int STRIPES = 16; // a power of two

  private final RefundStripe[] stripes = new RefundStripe[STRIPES];
  private final AtomicInteger count = new AtomicInteger();
  private final int most;
  private final Runnable onSettledEarly;

  /**
   * Creates a tracker of nothing.
   *
   * @param time how much time passes here, by any clock
   * @param storeTime the store's present, where it is known here
   * @param most how many stretches may be open, about
   * @param onSettledEarly told of each stretch that was settled because there are too many
   */
  RefundTracker(
      TimeSource time, Supplier<OptionalLong> storeTime, int most, Runnable onSettledEarly) {
    this.most = most;
    this.onSettledEarly = onSettledEarly;
    for (int i = 0; i < STRIPES; i++) {
      stripes[i] = new RefundStripe(time, storeTime, count);
    }
  }

  private RefundStripe stripe(String key) {
    int hash = key.hashCode() * 0x9E3779B9;
    return stripes[hash >>> 28];
  }

  /** To be called before the spend, so that nothing that lowers the TAT after it is missed. */
  List<Stretch> open(List<Charge> charges) {
    List<Stretch> opened = new ArrayList<>(charges.size());
    for (Charge charge : charges) {
      RefundStripe stripe = stripe(charge.key());
      synchronized (stripe) {
        opened.add(stripe.open(charge.key()));
      }
      if (count.incrementAndGet() > most) {
        settleOldest(stripe);
      }
    }
    return opened;
  }

  private void settleOldest(RefundStripe stripe) {
    boolean settled;
    synchronized (stripe) {
      settled = stripe.settleOldest();
    }
    if (settled) {
      onSettledEarly.run();
    }
  }

  /**
   * Forgets stretches that will give nothing back, whatever happens. A second call does nothing.
   */
  void close(List<Stretch> stretches) {
    stretches.forEach(this::close);
  }

  void close(Stretch stretch) {
    RefundStripe stripe = stretch.stripe();
    synchronized (stripe) {
      stripe.close(stretch);
    }
  }

  /**
   * Says where on the time line the tokens of an opened stretch were taken.
   *
   * @param found what the spend found
   * @param tatAfterNanos what it left behind
   */
  void place(Stretch stretch, Reading found, long tatAfterNanos) {
    RefundStripe stripe = stretch.stripe();
    synchronized (stripe) {
      stripe.place(stretch, found, tatAfterNanos);
    }
  }

  /**
   * Settles a stretch, and says what to charge to give back what is left of it. The caller then
   * reports the outcome to {@link #answered} or {@link #failed}.
   *
   * @param worthNanos what the tokens are worth today
   * @param offsetNanos the burst offset of today's limit
   * @return null where nothing is left
   */
  @Nullable Lowering giveBack(Stretch stretch, long worthNanos, long offsetNanos) {
    RefundStripe stripe = stretch.stripe();
    synchronized (stripe) {
      return stripe.giveBack(stretch, worthNanos, offsetNanos);
    }
  }

  /**
   * Before refunds that belong to no stretch, resets, and forgiven debts: says what to charge in
   * their place. Stretches that are open give nothing back after a reset, nor where a debt was
   * forgiven.
   */
  List<Lowering> send(List<Charge> charges) {
    List<Lowering> lowerings = new ArrayList<>(charges.size());
    for (Charge charge : charges) {
      RefundStripe stripe = stripe(charge.key());
      synchronized (stripe) {
        lowerings.add(stripe.send(charge));
      }
    }
    return lowerings;
  }

  /** After the store has refunded or reset. */
  void answered(List<Lowering> lowerings, List<Reading> readings) {
    for (int i = 0; i < lowerings.size(); i++) {
      Lowering lowering = lowerings.get(i);
      RefundStripe stripe = lowering.stripe();
      synchronized (stripe) {
        stripe.answered(lowering, readings.get(i));
      }
    }
  }

  /**
   * After the store was asked to take spends back that nothing had followed.
   *
   * @param withdrawals what it was asked
   * @param readings what it found
   */
  void withdrawn(List<Charge> withdrawals, List<Reading> readings) {
    for (int i = 0; i < withdrawals.size(); i++) {
      Charge charge = withdrawals.get(i);
      RefundStripe stripe = stripe(charge.key());
      synchronized (stripe) {
        stripe.withdrawn(charge, readings.get(i));
      }
    }
  }

  /** After the store said that it has not refunded or reset, and will not. */
  void refused(List<Lowering> lowerings) {
    for (Lowering lowering : lowerings) {
      RefundStripe stripe = lowering.stripe();
      synchronized (stripe) {
        stripe.refused(lowering);
      }
    }
  }

  /** After the store failed to say whether it has refunded or reset. */
  void failed(List<Lowering> lowerings) {
    for (Lowering lowering : lowerings) {
      RefundStripe stripe = lowering.stripe();
      synchronized (stripe) {
        stripe.failed(lowering);
      }
    }
  }

  /** Whether a refund or reset of a bucket is in flight, or may still arrive. */
  boolean isLowering(String key) {
    RefundStripe stripe = stripe(key);
    synchronized (stripe) {
      return stripe.isLowering(key);
    }
  }

  /** How many stretches are open. */
  int size() {
    return count.get();
  }

  /** How many spends, refunds and resets are in flight, as far as anybody has told. */
  int inFlight() {
    int inFlight = 0;
    for (RefundStripe stripe : stripes) {
      synchronized (stripe) {
        inFlight += stripe.inFlight();
      }
    }
    return inFlight;
  }

  /** How many buckets have stretches, or refunds in flight. */
  int buckets() {
    int buckets = 0;
    for (RefundStripe stripe : stripes) {
      synchronized (stripe) {
        buckets += stripe.buckets();
      }
    }
    return buckets;
  }
}
