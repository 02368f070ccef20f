// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.TimeSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/*
 * The tokens of a bucket refill in the order in which they were spent. A spend takes the stretch of
 * the time line that ends at the TAT after the spend:
 *
 *        before                   end           TAT
 *   ───────┼───────────┼───────────┼─────────────┼──────▶ time
 *          │◀ refilled▶│◀ refund ─▶│◀─ younger ─▶│
 *                     now
 *
 * A cancellation gives back min(taken, end − now), which the store computes by its own clock. A
 * give-back is a cancellation, a refund, a reset or a forgiven debt.
 *
 * Invariant: no recorded end is later than the true end. Only a give-back moves true ends, by at
 * most the requested amount. A cancellation moves the ends of younger spends; a plain refund takes
 * the oldest tokens, so it moves all ends. The recorded ends move by the full amount. The recorded
 * ends of open reservations move when the give-back is sent, except reservations that are certainly
 * older than the tokens given back. The recorded end of a spend in flight moves when the store's
 * answer to the spend arrives, if the give-back overlapped the spend. A give-back whose answer was
 * lost counts as in flight until no server can apply it any more. If the store has certainly not
 * applied a give-back, the recorded ends move back, and the reservation of the give-back is open
 * again, so that a settlement can repeat the give-back. While a give-back of a reservation is in
 * flight, other give-backs move the recorded end of this reservation too, and a reset closes this
 * reservation.
 *
 * 1. A reservation has at most one give-back in flight, and none after a give-back that the store
 *    may have applied.
 * 2. Without the cancelled spend, the other tokens refill at the same time or earlier. So if a
 *    give-back gives back at most the part of its stretch that has not refilled, the bucket is no
 *    fuller than without the spend. By the invariant, a give-back gives back at most this part,
 *    unless another give-back overlaps and moves the end of the stretch before the store applies
 *    the first give-back.
 * 3. Let give-backs overlap, from t0 (the first is sent) to t1 (the last is applied). Together they
 *    give back at most the parts of their stretches that had not refilled at t0, which would be
 *    correct at t0. Until t1, a bucket without these spends refills by at most t1 − t0. So the
 *    bucket is fuller by at most t1 − t0. If a plain refund or a reset overtakes a cancellation,
 *    the excess is at most the tokens of that cancellation.
 *
 * The argument is about a single bucket, so it also holds for batches. Leases are tracked as
 * reservations too, and so is the charge of a batch on one server until all servers have allowed
 * the batch.
 */

/**
 * Tracks each bucket's open reservations, and the charges in flight that lower its TAT.
 *
 * <p>If more than {@link #MOST_OF_A_BUCKET} reservations of a bucket or {@link #MOST} in total are
 * open, the oldest reservation can no longer give tokens back. Reservations whose tokens have
 * refilled are forgotten during later calls. A give-back costs O(n) for n open reservations of its
 * bucket. Thread-safe; locks are held briefly.
 */
final class OpenReservations {

  /** The largest total number of open reservations. */
  static final int MOST = 1_000_000;

  /** The largest number of open reservations of one bucket. */
  static final int MOST_OF_A_BUCKET = 4_096;

  // The longest time after a call's time-out at which the call can still reach the store.
  private static final long LATE_NANOS = 50_000_000;
  // The longest time for which a call without a time-out can be in flight.
  private static final long FROZEN_NANOS = 60_000_000_000L;
  private static final long HUGE_NANOS = Long.MAX_VALUE / 2; // two of these add up without overflow
  private static final int STRIPES = 16; // a power of two

  private final TimeSource time;
  private final Supplier<OptionalLong> storeTime;
  private final int most;
  private final IntConsumer onSettledEarly;
  private final Stripe[] stripes = new Stripe[STRIPES];
  private final AtomicInteger count = new AtomicInteger();

  /**
   * Creates an empty list of reservations.
   *
   * @param time a clock of this process, with any origin
   * @param storeTime the store's current time, empty if this process does not know it
   * @param most about how many reservations can be open
   * @param onSettledEarly a function that receives the exceeded bound for each reservation that is
   *     closed early
   */
  OpenReservations(
      TimeSource time, Supplier<OptionalLong> storeTime, int most, IntConsumer onSettledEarly) {
    this.time = time;
    this.storeTime = storeTime;
    this.most = most;
    this.onSettledEarly = onSettledEarly;
    for (int i = 0; i < STRIPES; i++) {
      stripes[i] = new Stripe();
    }
  }

  /** A subset of the buckets; the monitor of this object guards the fields. */
  private static final class Stripe {
    private final Map<String, Line> lines = new HashMap<>();
    private final TreeMap<Long, Stretch> byAge = new TreeMap<>();
    private long sequence;
    private long lookedAt; // the last entry of byAge that forgetSome() examined
  }

  /** The reservations and the give-backs in flight of one bucket. */
  private static final class Line {
    // All reservations, also those in state SENT; the oldest reservation is first.
    private final List<Stretch> reservations = new ArrayList<>(1);
    private final List<Stretch> lost = new ArrayList<>(0); // in state LOST, the first lost first
    private int underWay; // give-backs in flight, resets included
    private int resets; // resets in flight
    private long sentNanos; // sum of the give-backs in flight, at most HUGE_NANOS
  }

  private enum State {
    IN_FLIGHT,
    OPEN,
    SENT, // a give-back is in flight
    LOST, // the answer of the give-back was lost
    GONE
  }

  /** The tokens that a spend took from one bucket, and later the give-back of these tokens. */
  static final class Stretch {
    private final Stripe stripe;
    private final Line line;
    private final String key;
    private final long entered; // position in the stripe's sequence
    private State state;
    private long answered; // position in the stripe's sequence
    private long sentAt; // position in the stripe's sequence; 0 if the give-back moves all ends
    // For a spend in flight: how much earlier, because of give-backs, its tokens will have
    // refilled. For a give-back: an upper bound of how far it lowers the TAT.
    private long nanos;
    private boolean isReset; // whether this stretch is a reset, or overlaps a reset
    private long spentAtNanos; // by the store's clock
    // The first value of endNanos; 0 if a give-back overlapped the spend.
    private long spentEndNanos;
    private volatile long endNanos; // unsigned, by the store's clock
    private long seenAt; // when the answer arrived, by this process's clock
    private long overAt; // by this process's clock

    private Stretch(Stripe stripe, String key, State state) {
      this.stripe = stripe;
      this.key = key;
      this.state = state;
      this.line = stripe.lines.computeIfAbsent(key, k -> new Line());
      this.entered = ++stripe.sequence;
      stripe.byAge.put(entered, this);
    }

    /** Returns the instant, unsigned, from which no token can be given back. Takes no lock. */
    long untilNanos() {
      return endNanos;
    }

    private void moveUp(long byNanos) {
      long end = endNanos;
      endNanos = Long.compareUnsigned(end, byNanos) <= 0 ? Gcra.NO_TAT : end - byNanos;
    }

    /**
     * Returns whether this give-back moves, or moved, another reservation's recorded refill time.
     */
    private boolean moves(Stretch other) {
      return other != this && (other.answered > sentAt || !other.isCertainlyOlderThan(this));
    }

    private boolean isCertainlyOlderThan(Stretch other) {
      if (answered < other.entered || other.answered < entered) {
        return answered < other.entered;
      }
      return spentAtNanos < other.spentAtNanos
          || (spentAtNanos == other.spentAtNanos
              && spentEndNanos != 0
              && Long.compareUnsigned(spentEndNanos, other.spentEndNanos) < 0);
    }

    private void leave() {
      state = State.GONE;
      endNanos = Gcra.NO_TAT;
      stripe.byAge.remove(entered);
      if (line.reservations.isEmpty() && line.underWay == 0) {
        stripe.lines.remove(key);
      }
    }
  }

  /** A give-back in flight, which the store can apply up to lateNanos after a lost answer. */
  record GiveBack(Charge charge, Stretch at, long lateNanos) {
    static List<Charge> charges(List<GiveBack> giveBacks) {
      List<Charge> charges = new ArrayList<>(giveBacks.size());
      giveBacks.forEach(giveBack -> charges.add(giveBack.charge));
      return charges;
    }
  }

  private Stripe stripe(String key) {
    return stripes[(key.hashCode() * 0x9E3779B9) >>> 28];
  }

  /**
   * Forgets finished reservations: checks two reservations per call, so that each call is short.
   * Also forgets the bucket's give-backs whose answers were lost and that are over.
   */
  private void forgetSome(Stripe stripe, String key) {
    for (int i = 0; i < 2; i++) {
      Map.Entry<Long, Stretch> next = stripe.byAge.higherEntry(stripe.lookedAt);
      stripe.lookedAt = next == null ? 0 : next.getKey();
      if (next != null && isOver(next.getValue())) {
        forget(next.getValue());
      }
    }
    Line line = stripe.lines.get(key);
    while (line != null && !line.lost.isEmpty() && isOver(line.lost.get(0))) {
      settled(line.lost.get(0));
    }
  }

  private void forget(Stretch over) {
    if (over.state == State.OPEN) {
      closed(over);
    } else if (over.state == State.LOST) {
      settled(over);
    }
  }

  private boolean isOver(Stretch stretch) {
    OptionalLong nowNanos = storeTime.get();
    return (stretch.state == State.OPEN && nowNanos.isPresent())
        ? Long.compareUnsigned(stretch.endNanos, nowNanos.getAsLong()) <= 0
        : time.nanos() - stretch.overAt >= 0;
  }

  /** Registers spends as reservations before the spends are sent to the store. */
  List<Stretch> open(List<Charge> charges) {
    List<Stretch> opened = new ArrayList<>(charges.size());
    for (Charge charge : charges) {
      Stripe stripe = stripe(charge.key());
      boolean ofBucket;
      boolean ofAll;
      synchronized (stripe) {
        forgetSome(stripe, charge.key());
        Stretch stretch = new Stretch(stripe, charge.key(), State.IN_FLIGHT);
        Line line = stretch.line;
        stretch.nanos = line.sentNanos;
        stretch.isReset = line.resets > 0;
        opened.add(stretch);
        line.reservations.add(stretch);
        ofBucket = line.reservations.size() > MOST_OF_A_BUCKET && settleOldest(line.reservations);
        ofAll = count.incrementAndGet() > most && settleOldest(stripe.byAge.values());
      }
      if (ofBucket || ofAll) {
        onSettledEarly.accept(ofBucket ? MOST_OF_A_BUCKET : most);
      }
    }
    return opened;
  }

  private boolean settleOldest(Collection<Stretch> byAge) {
    for (Stretch stretch : byAge) {
      if (stretch.state == State.OPEN) {
        closed(stretch);
        return true;
      }
    }
    return false;
  }

  /**
   * Forgets reservations that will give no tokens back; does nothing for forgotten reservations.
   */
  void close(List<Stretch> stretches) {
    stretches.forEach(this::close);
  }

  void close(Stretch stretch) {
    synchronized (stretch.stripe) {
      closed(stretch);
    }
  }

  private void closed(Stretch stretch) {
    if (stretch.state == State.SENT) {
      stretch.endNanos = Gcra.NO_TAT; // the reservation stays closed if the give-back fails
    } else if (stretch.line.reservations.remove(stretch)) {
      count.decrementAndGet();
      stretch.leave();
    }
  }

  /**
   * Records from which instant to which instant the tokens of a spend refill.
   *
   * @param found the reading of the bucket before the spend
   * @param tatAfterNanos the TAT after the spend
   */
  void place(Stretch stretch, Reading found, long tatAfterNanos) {
    synchronized (stretch.stripe) {
      if (stretch.state != State.IN_FLIGHT) {
        return;
      }
      stretch.state = State.OPEN;
      stretch.answered = ++stretch.stripe.sequence;
      stretch.spentAtNanos = found.nowNanos();
      stretch.spentEndNanos = stretch.nanos > 0 ? 0 : tatAfterNanos;
      stretch.endNanos = tatAfterNanos;
      stretch.moveUp(stretch.nanos);
      stretch.seenAt = time.nanos();
      stretch.overAt = stretch.seenAt + Math.max(tatAfterNanos - found.nowNanos(), 0);
      if (stretch.isReset || stretch.nanos >= HUGE_NANOS || stretch.endNanos == Gcra.NO_TAT) {
        closed(stretch);
      }
    }
  }

  /**
   * Returns the charge that gives back tokens of an open reservation. The caller sends the returned
   * charge, and then calls {@link #ended} or {@link #undone}.
   *
   * @param worthNanos the TAT increment of the tokens under the current limit
   * @param offsetNanos the burst offset of the current limit
   * @return the give-back, null if no tokens are left to give back
   */
  @Nullable GiveBack giveBack(Stretch stretch, long worthNanos, long offsetNanos) {
    synchronized (stretch.stripe) {
      long untilNanos = stretch.endNanos;
      long leftNanos = stretch.state == State.OPEN ? leftAtMostNanos(stretch, untilNanos) : 0;
      long nanos = Math.min(Math.min(worthNanos, offsetNanos), leftNanos);
      if (nanos <= 0) {
        closed(stretch);
        return null;
      }
      count.decrementAndGet();
      stretch.sentAt = ++stretch.stripe.sequence;
      sent(stretch, nanos);
      Charge charge = new Charge(stretch.key, Op.REFUND, nanos, offsetNanos, untilNanos);
      return new GiveBack(charge, stretch, Math.min(leftNanos, FROZEN_NANOS) + LATE_NANOS);
    }
  }

  /**
   * Returns an upper bound of the time until a spend's tokens have refilled, if store and process
   * have equally fast clocks.
   */
  private long leftAtMostNanos(Stretch known, long untilNanos) {
    long passedNanos = Math.max(time.nanos() - known.seenAt, 0);
    long nowNanos = storeTime.get().orElse(known.spentAtNanos + passedNanos);
    long leftNanos = untilNanos - nowNanos;
    boolean isOver = Long.compareUnsigned(untilNanos, nowNanos) <= 0;
    return isOver ? 0 : leftNanos < 0 ? Long.MAX_VALUE : leftNanos;
  }

  private static void sent(Stretch at, long nanos) {
    at.state = State.SENT;
    at.nanos = nanos;
    at.line.underWay++;
    moveUp(at.line, nanos, at::moves);
    at.line.sentNanos = sum(at.line.sentNanos, nanos);
  }

  /** Lowers the recorded refill times of a bucket's spends in flight and selected reservations. */
  private static void moveUp(Line line, long nanos, Predicate<Stretch> isBehind) {
    for (Stretch other : line.reservations) {
      if (other.state == State.IN_FLIGHT) {
        other.nanos = sum(other.nanos, nanos);
      } else if (isBehind.test(other)) {
        other.moveUp(nanos);
      }
    }
  }

  private static long sum(long nanos, long moreNanos) {
    return Math.min(nanos, HUGE_NANOS) + Math.min(moreNanos, HUGE_NANOS);
  }

  /**
   * Registers give-backs that belong to no {@link Reservation} of this process, before they are
   * sent. Give-backs without a reservation are refunds, cancellations and settlements with a {@link
   * Reservation.Receipt}, resets, and charges that forgive a debt.
   */
  List<GiveBack> send(List<Charge> charges) {
    List<GiveBack> giveBacks = new ArrayList<>(charges.size());
    for (Charge charge : charges) {
      Stripe stripe = stripe(charge.key());
      synchronized (stripe) {
        giveBacks.add(send(stripe, charge));
      }
    }
    return giveBacks;
  }

  private GiveBack send(Stripe stripe, Charge charge) {
    forgetSome(stripe, charge.key());
    Stretch at = new Stretch(stripe, charge.key(), State.SENT);
    at.isReset = charge.op() == Op.RESET || charge.op() == Op.FORGIVE;
    at.line.resets += at.isReset ? 1 : 0;
    long nanos = at.isReset ? 0 : charge.incrementNanos();
    for (Stretch known : at.line.reservations) {
      boolean isReceipt = known.state == State.OPEN && charge.untilNanos() != Effect.NO_END;
      nanos = isReceipt ? Math.min(nanos, leftAtMostNanos(known, charge.untilNanos())) : nanos;
    }
    sent(at, nanos);
    for (Stretch other : at.isReset ? List.copyOf(at.line.reservations) : List.<Stretch>of()) {
      if (other.state == State.IN_FLIGHT) {
        other.isReset = true;
      } else {
        closed(other);
      }
    }
    return new GiveBack(charge, at, FROZEN_NANOS);
  }

  /**
   * Registers a charge that reverts a spend, before the charge is sent. A reverting charge changes
   * the bucket only if the bucket still has the TAT that the reverted spend left. If other spends
   * have by chance left that TAT, the reverting charge gives back the tokens of the other spends.
   */
  void withdraw(Charge charge) {
    Stripe stripe = stripe(charge.key());
    synchronized (stripe) {
      Line line = stripe.lines.get(charge.key());
      if (line != null) {
        long startNanos = charge.untilNanos() - charge.incrementNanos();
        moveUp(
            line,
            charge.incrementNanos(),
            other -> Long.compareUnsigned(other.endNanos, startNanos) > 0);
      }
    }
  }

  /**
   * Registers that a call with give-backs has ended.
   *
   * @param isLost true if it is unknown whether the store has lowered the TATs
   */
  void ended(List<GiveBack> giveBacks, boolean isLost) {
    for (GiveBack giveBack : giveBacks) {
      Stretch at = giveBack.at;
      synchronized (at.stripe) {
        if (isLost) {
          at.state = State.LOST;
          at.line.reservations.remove(at);
          at.line.lost.add(at);
          at.overAt = time.nanos() + giveBack.lateNanos;
        } else {
          settled(at);
        }
      }
    }
  }

  /**
   * Registers that the store has certainly not applied a call with give-backs. Restores the
   * recorded refill times of other reservations, and reopens the reservations of the give-backs,
   * except reservations that were closed or reset since.
   */
  void undone(List<GiveBack> giveBacks) {
    for (GiveBack giveBack : giveBacks) {
      Stretch at = giveBack.at;
      synchronized (at.stripe) {
        moveBack(at);
        if (at.endNanos == Gcra.NO_TAT) {
          settled(at);
        } else {
          landed(at);
          at.state = State.OPEN;
          count.incrementAndGet();
        }
      }
    }
  }

  private static void moveBack(Stretch at) {
    for (Stretch other : at.nanos < HUGE_NANOS ? at.line.reservations : List.<Stretch>of()) {
      if (other.state == State.IN_FLIGHT) {
        other.nanos -= other.nanos < HUGE_NANOS ? at.nanos : 0;
      } else if (at.moves(other)) {
        long end = other.endNanos;
        other.endNanos = end == Gcra.NO_TAT ? end : end + at.nanos;
      }
    }
  }

  private static void settled(Stretch at) {
    landed(at);
    at.line.reservations.remove(at);
    at.line.lost.remove(at);
    at.leave();
  }

  private static void landed(Stretch at) {
    Line line = at.line;
    line.resets -= at.isReset ? 1 : 0;
    line.sentNanos -= line.sentNanos < HUGE_NANOS ? at.nanos : 0;
    if (--line.underWay == 0) {
      line.sentNanos = 0;
    }
  }

  /**
   * Returns whether a give-back or a reset of a bucket is in flight, or can still reach the store.
   */
  boolean isLowering(String key) {
    Stripe stripe = stripe(key);
    synchronized (stripe) {
      forgetSome(stripe, key);
      Line line = stripe.lines.get(key);
      return line != null && line.underWay > 0;
    }
  }

  int size() {
    return count.get();
  }

  int inFlight() {
    return sum(
        stripe ->
            stripe.byAge.values().stream()
                .mapToInt(at -> at.state == State.IN_FLIGHT || at.state == State.SENT ? 1 : 0)
                .sum());
  }

  int buckets() {
    return sum(stripe -> stripe.lines.size());
  }

  private int sum(ToIntFunction<Stripe> number) {
    int sum = 0;
    for (Stripe stripe : stripes) {
      synchronized (stripe) {
        sum += number.applyAsInt(stripe);
      }
    }
    return sum;
  }
}
