// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
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
 * The tokens of a bucket come back in the order in which they were spent. A spend took the stretch
 * of the time line that ends at the TAT which it left:
 *
 *        before                   end           TAT
 *   ───────┼───────────┼───────────┼─────────────┼──────▶ time
 *          │◀ refilled▶│◀ refund ─▶│◀─ younger ─▶│
 *                     now
 *
 * A cancellation gives back min(taken, end − now); the store computes it, by its own clock.
 *
 * Invariant: no end here is later than the true end. Only a give-back moves a true end, that of
 * younger spends, by at most what it asks for; a plain refund takes the oldest tokens, so it moves
 * all. The ends here move by all of it: those of open reservations when it is sent, unless they are
 * certainly older; those of reservations in flight when they are answered, if it was under way at
 * some moment of their call. A give-back whose answer was lost stays under way until no server can
 * apply it any more. No end moves back.
 *
 * 1. A reservation is settled before its give-back is sent, so it gives back at most once.
 * 2. Without what was cancelled, the other tokens come back at the same time or earlier. So a
 *    give-back that takes no more than the rest of its own stretch leaves the bucket no fuller than
 *    without the spend. By the invariant it takes no more, if its end moves no more until the store
 *    applies it: if no other give-back overlaps it.
 * 3. Let give-backs overlap, from t0 (the first is sent) to t1 (the last is applied). Together they
 *    take at most the rest of their stretches at t0, which would be right at t0. Until t1 the
 *    bucket without their spends refills t1 − t0 at most. So it is fuller by no more than that. A
 *    cancellation that a plain refund or a reset overtakes gives at most what it took too much.
 *
 * All of this is said of one bucket, so a batch changes nothing. A lease, and a part of a batch
 * that another server denied, are reservations, too.
 */

/**
 * The reservations that can still give something back, by bucket, and the give-backs under way.
 *
 * <p>Beyond {@link #MOST_OF_A_BUCKET} of a bucket, or {@link #MOST} in all, the oldest stays spent.
 * One whose tokens have been refilled is forgotten by later calls. A give-back costs O(n) with n
 * open reservations of its bucket. Thread-safe; never waits.
 */
final class OpenReservations {

  /** How many reservations may be open. */
  static final int MOST = 1_000_000;

  /** How many reservations of one bucket may be open. */
  static final int MOST_OF_A_BUCKET = 4_096;

  private static final long LATE_NANOS = 50_000_000; // a call whose time-out is over may arrive
  private static final long FROZEN_NANOS = 60_000_000_000L; // the same, where it has no end
  private static final long HUGE_NANOS = Long.MAX_VALUE / 2; // for sums without overflow
  private static final int STRIPES = 16; // a power of two

  private final TimeSource time;
  private final Supplier<OptionalLong> storeTime;
  private final int most;
  private final IntConsumer onSettledEarly;
  private final Stripe[] stripes = new Stripe[STRIPES];
  private final AtomicInteger count = new AtomicInteger();

  /**
   * Creates a list of nothing.
   *
   * @param time how much time passes here, by any clock
   * @param storeTime the store's current time, where it is known here
   * @param most how many reservations may be open, about
   * @param onSettledEarly called with the bound for each reservation that stays spent because of it
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

  /** Some of the buckets, guarded by its lock. */
  private static final class Stripe {
    private final Map<String, Line> lines = new HashMap<>();
    private final TreeMap<Long, Stretch> byAge = new TreeMap<>();
    private long sequence;
    private long lookedAt; // the last one that was looked at, if it is over
  }

  /** A bucket. */
  private static final class Line {
    private final List<Stretch> reservations = new ArrayList<>(1); // by age
    private int underWay; // give-backs
    private int resets; // among them
    private long sentNanos; // what they ask for, HUGE_NANOS or more for more
  }

  private enum State {
    IN_FLIGHT,
    OPEN,
    SENT, // a give-back
    LOST, // a give-back whose answer was lost
    GONE
  }

  /** The tokens that a spend took from one bucket; then a give-back under way. */
  static final class Stretch {
    private final Stripe stripe;
    private final Line line;
    private final String key;
    private final long entered; // in the stripe's sequence
    private State state;
    private long answered; // in the stripe's sequence
    private long nanos; // in flight: moves up by it; then: asks for it
    private boolean isReset; // or overlaps one
    private long spentAtNanos; // by the store's clock
    private long spentEndNanos; // where its end was at first; 0 where a give-back overlapped
    private volatile long endNanos; // unsigned, by the store's clock
    private long seenAt; // by the time here: not before spentAtNanos
    private long overAt; // by the time here

    private Stretch(Stripe stripe, String key, State state) {
      this.stripe = stripe;
      this.key = key;
      this.state = state;
      this.line = stripe.lines.computeIfAbsent(key, k -> new Line());
      this.entered = ++stripe.sequence;
      stripe.byAge.put(entered, this);
    }

    /** The instant, unsigned, from which nothing is left to give back. Takes no lock. */
    long untilNanos() {
      return endNanos;
    }

    private void moveUp(long byNanos) {
      long end = endNanos;
      endNanos = Long.compareUnsigned(end, byNanos) <= 0 ? Gcra.NO_TAT : end - byNanos;
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

  /** A give-back under way. Where its answer is lost, it may still be applied for some time. */
  record GiveBack(Charge charge, Stretch at, long lateNanos) {
    static List<Charge> charges(List<GiveBack> giveBacks) {
      return giveBacks.stream().map(GiveBack::charge).toList();
    }
  }

  private Stripe stripe(String key) {
    return stripes[(key.hashCode() * 0x9E3779B9) >>> 28];
  }

  /** Looks at two: no call has to wait for a sweep through all. */
  private void forgetSome(Stripe stripe) {
    for (int i = 0; i < 2; i++) {
      Map.Entry<Long, Stretch> next = stripe.byAge.higherEntry(stripe.lookedAt);
      stripe.lookedAt = next == null ? 0 : next.getKey();
      if (next != null && isOver(next.getValue())) {
        forget(next.getValue());
      }
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

  /** Enters spends, which have not been sent yet. */
  List<Stretch> open(List<Charge> charges) {
    List<Stretch> opened = new ArrayList<>(charges.size());
    for (Charge charge : charges) {
      Stripe stripe = stripe(charge.key());
      boolean ofBucket;
      boolean ofAll;
      synchronized (stripe) {
        forgetSome(stripe);
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

  /** Forgets spends that will give nothing back, whatever happens. A second call does nothing. */
  void close(List<Stretch> stretches) {
    stretches.forEach(this::close);
  }

  void close(Stretch stretch) {
    synchronized (stretch.stripe) {
      closed(stretch);
    }
  }

  private void closed(Stretch stretch) {
    if (stretch.line.reservations.remove(stretch)) {
      count.decrementAndGet();
      stretch.leave();
    }
  }

  /**
   * Says where on the time line the tokens of a spend were taken.
   *
   * @param found what the spend found
   * @param tatAfterNanos what it left behind
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
   * Settles a reservation, and says what to charge to give back what is left of it. The outcome is
   * for {@link #ended}.
   *
   * @param worthNanos what the tokens are worth today
   * @param offsetNanos the burst offset of today's limit
   * @return null where nothing is left
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
      stretch.line.reservations.remove(stretch);
      stretch.endNanos = Gcra.NO_TAT;
      sent(stretch, nanos, other -> !other.isCertainlyOlderThan(stretch));
      Charge charge = new Charge(stretch.key, Op.REFUND, nanos, offsetNanos, untilNanos);
      return new GiveBack(charge, stretch, Math.min(leftNanos, FROZEN_NANOS) + LATE_NANOS);
    }
  }

  /** Returns how far away an end is at most, if both clocks go at the same pace. */
  private long leftAtMostNanos(Stretch known, long untilNanos) {
    long passedNanos = Math.max(time.nanos() - known.seenAt, 0);
    long nowNanos = storeTime.get().orElse(known.spentAtNanos + passedNanos);
    long leftNanos = untilNanos - nowNanos;
    boolean isOver = Long.compareUnsigned(untilNanos, nowNanos) <= 0;
    return isOver ? 0 : leftNanos < 0 ? Long.MAX_VALUE : leftNanos;
  }

  private static void sent(Stretch at, long nanos, Predicate<Stretch> isBehind) {
    at.state = State.SENT;
    at.nanos = nanos;
    at.line.underWay++;
    moveUp(at.line, nanos, isBehind);
    at.line.sentNanos = sum(at.line.sentNanos, nanos);
  }

  /** Moves up those behind a give-back, and those whose place is not known yet. */
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
   * Before charges that lower buckets and belong to no reservation here: plain refunds, receipts,
   * resets, and forgiven debts.
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
    forgetSome(stripe);
    Stretch at = new Stretch(stripe, charge.key(), State.SENT);
    at.isReset = charge.op() == Op.RESET || charge.op() == Op.FORGIVE;
    at.line.resets += at.isReset ? 1 : 0;
    long nanos = at.isReset ? 0 : charge.incrementNanos();
    for (Stretch known : at.line.reservations) {
      boolean isReceipt = known.state == State.OPEN && charge.untilNanos() != Effect.NO_END;
      nanos = isReceipt ? Math.min(nanos, leftAtMostNanos(known, charge.untilNanos())) : nanos;
    }
    sent(at, nanos, other -> true);
    for (Stretch other : at.isReset ? List.copyOf(at.line.reservations) : List.<Stretch>of()) {
      other.isReset = true;
      if (other.state == State.OPEN) {
        closed(other);
      }
    }
    return new GiveBack(charge, at, FROZEN_NANOS);
  }

  /**
   * Before a withdrawal. It takes back the last stretch of the queue, which nothing follows. If the
   * TAT is the expected one by chance, it takes back what followed, too.
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
   * After a call that gives back.
   *
   * @param isLost whether the store failed to say whether it has lowered the buckets
   */
  void ended(List<GiveBack> giveBacks, boolean isLost) {
    for (GiveBack giveBack : giveBacks) {
      Stretch at = giveBack.at;
      synchronized (at.stripe) {
        if (isLost) {
          at.state = State.LOST;
          at.overAt = time.nanos() + giveBack.lateNanos;
        } else {
          settled(at);
        }
      }
    }
  }

  private static void settled(Stretch at) {
    Line line = at.line;
    line.resets -= at.isReset ? 1 : 0;
    line.sentNanos -= line.sentNanos < HUGE_NANOS ? at.nanos : 0;
    if (--line.underWay == 0) {
      line.sentNanos = 0;
    }
    at.leave();
  }

  /** Whether a give-back or reset of a bucket is under way, or may still arrive. */
  boolean isLowering(String key) {
    Stripe stripe = stripe(key);
    synchronized (stripe) {
      forgetSome(stripe);
      Line line = stripe.lines.get(key);
      return line != null && line.underWay > 0;
    }
  }

  /** How many reservations are open. */
  int size() {
    return count.get();
  }

  /** How many spends and give-backs wait for their answer. */
  int inFlight() {
    return sum(
        stripe ->
            stripe.byAge.values().stream()
                .mapToInt(at -> at.state == State.IN_FLIGHT || at.state == State.SENT ? 1 : 0)
                .sum());
  }

  /** How many buckets have reservations, or give-backs under way. */
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
