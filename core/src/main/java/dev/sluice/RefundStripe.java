// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Gcra;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import dev.sluice.store.TimeSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/*
 * Refunds that are in flight.
 *
 * A refund moves the stretches that were taken later (see the essay in Reservation). By how much,
 * and when, is known when its answer comes: later than the next cancellation may be, or never. So
 * it counts in full from the moment at which it is sent, before anything is on its way:
 *
 *     sent      the later stretches move up by all that it may give back
 *     answered  they move back by what it did not give back
 *     refused   they move back by all of it: nothing was charged
 *     failed    nothing moves: it may have been applied, or may be yet
 *
 * A stretch that is placed while a refund is in flight moves up as well; the answer tells by the
 * store's clock which of the two came first. Within one tick nobody knows: then the refund counts
 * as the later one. Each doubt costs tokens, and none gives any.
 *
 * The other way round. The refund A of a younger stretch is in flight, and an older stretch S is
 * cancelled. Applied in this order both are right; A's charge does not know of S, so applied behind
 * S it may give back too much. The end that A states decides by how much S may move it:
 *
 *        now            S                     A
 *   ──────┼─────────┼───────┼───────────┼───────────┼──▶ time
 *         │◀ LATE  ▶│◀ what A gives ▶│◀── slack ───▶│
 *                                     │          the end of A
 *                                     └ what its charge names as the end
 *
 * A's charge names an end as early as A can do with: it gives back all of A for LATE_NANOS to come,
 * less and less behind that. The time between this end and the true one is A's slack. As long as S
 * and all others move A by no more than that, A is right whenever it is applied, in any order. So
 * S gives back at most the slack of the younger refunds in flight. That is less than S could by
 * LATE_NANOS worth of refill at most, and only while A is in flight or its fate is unknown.
 * A plain refund counts as older than all stretches, and is held to the same.
 *
 * A reset can't be held to it: what is open gives nothing back after it, but a refund that was sent
 * before it and arrives after it is not seen.
 */

/**
 * A part of the buckets of a {@link RefundTracker}. Not thread-safe: the tracker calls each method
 * under the lock of its stripe. {@link Stretch#untilNanos} takes that lock on its own.
 */
final class RefundStripe {

  /**
   * The largest refund that moves the stretches of its bucket, 36 years, so that no sum overflows.
   * A larger one ends them, as a reset does.
   */
  private static final long MOST_TRACKED_NANOS = TimeLine.FREE / 4;

  /** How late a refund may arrive and still give back all: most round trips take less. */
  static final long LATE_NANOS = 50_000_000;

  /** How long a refund or reset that failed may still be applied by a server that was frozen. */
  private static final long HAUNTED_NANOS = 60_000_000_000L;

  private static final long LONGEST_NANOS = Long.MAX_VALUE / 2; // for sums without overflow

  private static final int LOOKED_AT = 2;

  private final TimeSource time;
  private final Supplier<OptionalLong> storeTime;
  private final AtomicInteger count;
  private final Map<String, Line> lines = new HashMap<>();
  private long sequence;
  private @Nullable Stretch oldest;
  private @Nullable Stretch youngest;
  private @Nullable Stretch lookNext;

  /**
   * Creates a stripe without buckets.
   *
   * @param time how much time passes here, by any clock
   * @param storeTime the store's present, where it is known here
   * @param count counts the open stretches of all stripes; a stripe takes off those that it closes
   */
  RefundStripe(TimeSource time, Supplier<OptionalLong> storeTime, AtomicInteger count) {
    this.time = time;
    this.storeTime = storeTime;
    this.count = count;
  }

  /** A refund or a reset, from the moment at which it is sent. */
  static final class Lowering {
    private final Charge charge;
    private final Stretch at;
    private final long sent; // in the stripe's sequence
    private final long hauntsNanos;

    private Lowering(Charge charge, Stretch at, long sent, long hauntsNanos) {
      this.charge = charge;
      this.at = at;
      this.sent = sent;
      this.hauntsNanos = hauntsNanos;
    }

    /** Returns the charge for the store. */
    Charge charge() {
      return charge;
    }

    /** For how long a server may still apply it where nobody knows whether it has. */
    long hauntsNanos() {
      return hauntsNanos;
    }

    RefundStripe stripe() {
      return at.stripe();
    }

    static List<Charge> charges(List<Lowering> lowerings) {
      return lowerings.stream().map(Lowering::charge).toList();
    }
  }

  private enum State {
    IN_FLIGHT,
    OPEN,
    /** Its refund is in flight, or of unknown fate; or it stands for a plain refund or a reset. */
    LEAVING,
    GONE
  }

  /**
   * The tokens that a reservation took from one bucket, as a stretch of the time line up to an
   * instant.
   */
  final class Stretch extends TimeLine.Node {
    private final Line line;
    private final long opened; // in the stripe's sequence
    private final long openedAt; // by the time here
    private State state = State.IN_FLIGHT;
    private long placed; // in the stripe's sequence
    private long spentAtNanos; // by the store's clock, as the end
    private long endNanos;
    private long refundNanos; // what is in flight
    private long overAt = Long.MAX_VALUE; // by the time here
    private boolean isReset;
    private boolean haunts; // the fate of its refund is unknown
    private @Nullable Stretch older; // in the stripe
    private @Nullable Stretch younger;
    private volatile @Nullable Seen seen;

    private Stretch(Line line, long opened, long openedAt) {
      this.line = line;
      this.opened = opened;
      this.openedAt = openedAt;
    }

    RefundStripe stripe() {
      return RefundStripe.this;
    }

    /**
     * The instant, unsigned, from which there is nothing left to give back; {@link Gcra#NO_TAT}
     * where it was settled. Cheap as long as nothing moves on its bucket.
     */
    long untilNanos() {
      Seen last = seen;
      if (last != null && last.version == line.version) {
        return last.untilNanos;
      }
      synchronized (RefundStripe.this) {
        long untilNanos = state == State.OPEN ? movedNanos() : Gcra.NO_TAT;
        seen = new Seen(line.version, untilNanos);
        return untilNanos;
      }
    }

    private long movedNanos() {
      long shift = line.order.shiftOf(this);
      return shift < 0 && Long.compareUnsigned(endNanos, -shift) <= 0
          ? Gcra.NO_TAT
          : endNanos + shift;
    }
  }

  private record Seen(long version, long untilNanos) {}

  /**
   * A refund, reset or withdrawal that was answered while spends were in flight.
   *
   * @param aboveNanos moves only those that end after it, unsigned
   */
  private record Answered(long at, long nowNanos, long byNanos, boolean reset, long aboveNanos) {}

  /** A bucket. */
  private static final class Line {
    private final String key;
    private final TimeLine order = new TimeLine();
    private final Set<Stretch> inFlight = new LinkedHashSet<>(2);
    private final Deque<Answered> answered = new ArrayDeque<>(0);
    private int members;
    private int resets; // in flight, or of unknown fate
    private long refundingNanos; // the sum of what is in flight, or of unknown fate
    private int lowering; // refunds and resets in flight
    private int haunting; // refunds and resets of unknown fate
    private long hauntedUntil; // by the time here, where any is haunting
    private long nowNanos; // the store's present, when it was seen last
    private long nowSeenAt;
    private volatile long version; // written under the stripe's lock

    Line(String key) {
      this.key = key;
    }

    @SuppressWarnings("NonAtomicVolatileUpdate") // written under the stripe's lock
    void moved() {
      version++;
    }
  }

  Stretch open(String key) {
    look();
    Stretch stretch = enter(key);
    stretch.line.inFlight.add(stretch);
    return stretch;
  }

  private Stretch enter(String key) {
    Line line = lines.computeIfAbsent(key, Line::new);
    Stretch stretch = new Stretch(line, ++sequence, time.nanos());
    line.members++;
    stretch.older = youngest;
    if (youngest == null) {
      oldest = stretch;
    } else {
      youngest.younger = stretch;
    }
    youngest = stretch;
    return stretch;
  }

  private void leave(Stretch stretch) {
    stretch.state = State.GONE;
    Stretch before = stretch.older;
    Stretch after = stretch.younger;
    if (before == null) {
      oldest = after;
    } else {
      before.younger = after;
    }
    if (after == null) {
      youngest = before;
    } else {
      after.older = before;
    }
    if (lookNext == stretch) {
      lookNext = after;
    }
    stretch.older = null;
    stretch.younger = null;
    Line line = stretch.line;
    line.moved();
    if (--line.members == 0) {
      lines.remove(line.key);
    }
  }

  void close(Stretch stretch) {
    switch (stretch.state) {
      case IN_FLIGHT -> landed(stretch);
      case OPEN -> stretch.line.order.remove(stretch);
      case LEAVING, GONE -> {
        return;
      }
    }
    count.decrementAndGet();
    leave(stretch);
  }

  private void landed(Stretch stretch) {
    Line line = stretch.line;
    line.inFlight.remove(stretch);
    if (line.inFlight.isEmpty()) {
      line.answered.clear();
      return;
    }
    long firstOpened = line.inFlight.iterator().next().opened;
    while (!line.answered.isEmpty() && line.answered.getFirst().at < firstOpened) {
      line.answered.removeFirst();
    }
  }

  private void lapse(Line line) {
    List<Stretch> open = new ArrayList<>();
    for (TimeLine.Node at = line.order.first(); at != null; at = line.order.after(at)) {
      Stretch stretch = (Stretch) at;
      if (stretch.state == State.OPEN) {
        open.add(stretch);
      }
    }
    open.forEach(this::close);
  }

  void place(Stretch stretch, Reading found, long tatAfterNanos) {
    if (stretch.state != State.IN_FLIGHT) {
      return;
    }
    Line line = stretch.line;
    long nowNanos = found.nowNanos();
    see(line, nowNanos);
    lowerTo(line, nowNanos + Gcra.aheadNanos(nowNanos, found.tatNanos()), stretch.opened);
    long byNanos = line.refundingNanos;
    boolean reset = line.resets > 0;
    for (Answered answered : line.answered) {
      if (answered.at > stretch.opened
          && answered.nowNanos >= nowNanos
          && Long.compareUnsigned(tatAfterNanos, answered.aboveNanos) > 0) {
        byNanos += answered.byNanos;
        reset |= answered.reset;
      }
    }
    if (reset || byNanos >= TimeLine.FREE / 2) {
      close(stretch);
      return;
    }
    stretch.spentAtNanos = nowNanos;
    stretch.endNanos = tatAfterNanos;
    long endNanos = tatAfterNanos - byNanos;
    line.order.insert(stretch, -byNanos, before -> precedes(before, stretch, endNanos));
    landed(stretch);
    stretch.state = State.OPEN;
    stretch.placed = ++sequence;
    stretch.overAt = time.nanos() + Math.max(tatAfterNanos - nowNanos, 0);
  }

  /** Whether a stretch was spent before one that is just being placed. */
  private boolean precedes(TimeLine.Node node, Stretch placing, long endNanos) {
    Stretch other = (Stretch) node;
    if (other.placed < placing.opened || other.spentAtNanos < placing.spentAtNanos) {
      return true;
    }
    return other.spentAtNanos == placing.spentAtNanos
        && Long.compareUnsigned(other.movedNanos(), endNanos) <= 0;
  }

  @Nullable Lowering giveBack(Stretch stretch, long worthNanos, long offsetNanos) {
    Line line = stretch.line;
    long endNanos = stretch.state == State.OPEN ? stretch.movedNanos() : Gcra.NO_TAT;
    long refundNanos = 0;
    if (endNanos != Gcra.NO_TAT) {
      refundNanos = Math.min(worthNanos, offsetNanos);
      if (line.members > 1) {
        refundNanos = Math.min(refundNanos, line.order.leastSlackAfter(stretch));
        refundNanos = Math.min(refundNanos, MOST_TRACKED_NANOS - line.refundingNanos);
      }
      refundNanos = Math.min(refundNanos, leftAtMostNanos(line, endNanos));
    }
    if (refundNanos <= 0) {
      close(stretch);
      return null;
    }
    long nowNanos = storeTime.get().orElseGet(() -> estimateNanos(stretch));
    long untilNanos = endNanos;
    if (line.order.first() != stretch || !line.inFlight.isEmpty()) {
      long neededNanos = nowNanos + LATE_NANOS + refundNanos;
      untilNanos = Long.compareUnsigned(neededNanos, endNanos) < 0 ? neededNanos : endNanos;
    }
    count.decrementAndGet();
    stretch.state = State.LEAVING;
    stretch.refundNanos = refundNanos;
    stretch.overAt = Long.MAX_VALUE;
    line.order.watch(stretch, endNanos - untilNanos);
    line.order.shiftAfter(stretch, -refundNanos);
    line.refundingNanos += refundNanos;
    line.lowering++;
    line.moved();
    Charge charge = new Charge(line.key, Effect.Op.REFUND, refundNanos, offsetNanos, untilNanos);
    long leftNanos = Long.compareUnsigned(untilNanos, nowNanos) > 0 ? untilNanos - nowNanos : 0;
    long hauntsNanos = Math.min(Math.max(leftNanos, 0), LONGEST_NANOS) + LATE_NANOS;
    return new Lowering(charge, stretch, ++sequence, hauntsNanos);
  }

  /**
   * Returns how much of a stretch is left at most; tokens that can't come back any more do not
   * count against the stretches behind them.
   */
  private long leftAtMostNanos(Line line, long endNanos) {
    long seenNanos = line.nowNanos + Math.max(time.nanos() - line.nowSeenAt, 0);
    long nowNanos = storeTime.get().orElse(seenNanos); // not after the store's present
    long leftNanos = endNanos - nowNanos;
    boolean isOver = Long.compareUnsigned(endNanos, nowNanos) <= 0;
    return isOver ? 0 : leftNanos < 0 ? Long.MAX_VALUE : leftNanos;
  }

  /** The store's present: not before it, if both clocks go at the same pace. */
  private long estimateNanos(Stretch stretch) {
    Line line = stretch.line;
    long here = time.nanos();
    return Math.max(
        stretch.spentAtNanos + Math.max(here - stretch.openedAt, 0),
        line.nowNanos + Math.max(here - line.nowSeenAt, 0));
  }

  private void see(Line line, long nowNanos) {
    line.nowNanos = nowNanos;
    line.nowSeenAt = time.nanos();
  }

  Lowering send(Charge charge) {
    look();
    Stretch mark = enter(charge.key());
    Line line = mark.line;
    mark.state = State.LEAVING;
    Charge asked = charge;
    boolean isTracked =
        charge.op() != Effect.Op.RESET
            && charge.op() != Effect.Op.FORGIVE
            && charge.incrementNanos() <= MOST_TRACKED_NANOS;
    if (!isTracked) {
      lapse(line);
      mark.isReset = true;
      line.resets++;
    } else {
      long most = Math.min(line.order.leastSlack(), MOST_TRACKED_NANOS - line.refundingNanos);
      mark.refundNanos = Math.min(charge.incrementNanos(), Math.max(most, 0));
      line.order.shiftAll(-mark.refundNanos);
      line.refundingNanos += mark.refundNanos;
      asked =
          new Charge(
              charge.key(),
              charge.op(),
              mark.refundNanos,
              charge.offsetNanos(),
              charge.untilNanos());
    }
    line.lowering++;
    line.moved();
    return new Lowering(asked, mark, ++sequence, HAUNTED_NANOS);
  }

  void answered(Lowering lowering, Reading found) {
    Charge charge = lowering.charge;
    Stretch at = lowering.at;
    Line line = at.line;
    long nowNanos = found.nowNanos();
    see(line, nowNanos);
    long afterNanos = charge.tatAfterNanos(nowNanos, found.tatNanos(), true);
    boolean reset = at.isReset;
    long byNanos = reset ? 0 : found.tatNanos() - afterNanos;
    movedBack(at, at.refundNanos - byNanos);
    line.order.shiftFrom(node -> wasSpentAfter(node, lowering, nowNanos), byNanos);
    settled(at);
    if (!line.inFlight.isEmpty()) {
      line.answered.addLast(new Answered(++sequence, nowNanos, byNanos, reset, 0));
    }
    if (!reset) {
      long leftNanos = Long.compareUnsigned(afterNanos, nowNanos) < 0 ? nowNanos : afterNanos;
      lowerTo(line, leftNanos, lowering.sent);
    }
  }

  /**
   * A withdrawal took back what lay behind all other spends, as far as the TAT told. If another
   * process gave back before, stretches from here may have taken the TAT to where it was. Those end
   * behind what the withdrawal left, and have lost as much.
   */
  void withdrawn(Charge charge, Reading found) {
    Line line = lines.get(charge.key());
    long nowNanos = found.nowNanos();
    long afterNanos = charge.tatAfterNanos(nowNanos, found.tatNanos(), true);
    long byNanos = found.tatNanos() - afterNanos;
    if (line == null || byNanos == 0) {
      return;
    }
    line.order.shiftFrom(
        node -> endsAfter(node, afterNanos) && ((Stretch) node).spentAtNanos > nowNanos, byNanos);
    line.order.shiftFrom(node -> endsAfter(node, afterNanos), -byNanos);
    line.moved();
    if (!line.inFlight.isEmpty()) {
      line.answered.addLast(new Answered(++sequence, nowNanos, byNanos, false, afterNanos));
    }
  }

  private static boolean endsAfter(TimeLine.Node node, long nanos) {
    return Long.compareUnsigned(((Stretch) node).movedNanos(), nanos) > 0;
  }

  /** By what a refund did not give back. */
  private static void movedBack(Stretch at, long lessNanos) {
    if (at.placed != 0) {
      at.line.order.shiftAfter(at, lessNanos);
    } else {
      at.line.order.shiftAll(lessNanos);
    }
  }

  void refused(Lowering lowering) {
    movedBack(lowering.at, lowering.at.refundNanos);
    settled(lowering.at);
  }

  void failed(Lowering lowering) {
    Stretch at = lowering.at;
    Line line = at.line;
    at.overAt = time.nanos() + lowering.hauntsNanos;
    at.haunts = true;
    line.lowering--;
    if (line.haunting++ == 0 || at.overAt - line.hauntedUntil > 0) {
      line.hauntedUntil = at.overAt;
    }
  }

  boolean isLowering(String key) {
    Line line = lines.get(key);
    return line != null
        && (line.lowering > 0 || (line.haunting > 0 && time.nanos() - line.hauntedUntil < 0));
  }

  private boolean wasSpentAfter(TimeLine.Node node, Lowering lowering, long nowNanos) {
    Stretch stretch = (Stretch) node;
    return stretch.placed > lowering.sent && stretch.spentAtNanos > nowNanos;
  }

  /** A refund or reset moves nothing any more that is placed from now on. */
  private void settled(Stretch at) {
    Line line = at.line;
    line.refundingNanos -= at.refundNanos;
    if (at.haunts) {
      line.haunting--;
    } else {
      line.lowering--;
    }
    if (at.placed != 0) {
      line.order.remove(at);
    } else if (at.isReset) {
      line.resets--;
    }
    leave(at);
  }

  /** The TAT lies before a stretch that was spent: somebody else gave back, or data was lost. */
  private void lowerTo(Line line, long tatNanos, long before) {
    TimeLine.Node node = line.order.last();
    if (node == null || ((Stretch) node).placed >= before) {
      return;
    }
    Stretch last = (Stretch) node;
    long endNanos = last.movedNanos();
    long leastNanos =
        Long.compareUnsigned(endNanos, last.refundNanos) < 0 ? 0 : endNanos - last.refundNanos;
    if (Long.compareUnsigned(tatNanos, leastNanos) < 0) {
      line.order.shiftAll(tatNanos - leastNanos);
      line.moved();
    }
  }

  /** Forgets what is over, two at a time: no call has to wait for a sweep through all. */
  private void look() {
    for (int i = 0; i < LOOKED_AT; i++) {
      Stretch stretch = lookNext == null ? oldest : lookNext;
      if (stretch == null) {
        return;
      }
      lookNext = stretch.younger;
      if (stretch.state == State.OPEN && isOver(stretch)) {
        close(stretch);
      } else if (stretch.haunts && time.nanos() - stretch.overAt >= 0) {
        settled(stretch);
      }
    }
  }

  private boolean isOver(Stretch stretch) {
    // A refund in flight may turn out to give nothing back, and then it moved nothing.
    long endNanos = stretch.movedNanos() + stretch.line.refundingNanos;
    OptionalLong nowNanos = storeTime.get();
    return Long.compareUnsigned(endNanos, stretch.line.nowNanos) <= 0
        || (nowNanos.isPresent()
            ? Long.compareUnsigned(endNanos, nowNanos.getAsLong()) <= 0
            : time.nanos() - stretch.overAt >= 0);
  }

  int inFlight() {
    int inFlight = 0;
    for (Stretch at = oldest; at != null; at = at.younger) {
      boolean isUnderWay = at.state == State.IN_FLIGHT || at.state == State.LEAVING;
      inFlight += isUnderWay && !at.haunts ? 1 : 0;
    }
    return inFlight;
  }

  int buckets() {
    return lines.size();
  }

  boolean settleOldest() {
    for (Stretch at = oldest; at != null; at = at.younger) {
      if (at.state == State.OPEN) {
        close(at);
        return true;
      }
    }
    return false;
  }
}
