// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import java.util.Iterator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/*
 * Why a debt is forgiven, and why not always.
 *
 * A TAT beyond now + τ is a debt: a limit with a larger tolerance worked on the bucket, or a clock
 * stepped back. Left alone it may lock an id out for hours, so a denied spend lowers it to now + τ.
 * But two limits may work on one bucket at the same time (a rolling deployment, an override that
 * only one of two servers has loaded). Then each forgiving sets τ_big − τ_small free for the larger
 * limit, which spends it and makes a new debt. Without a bound the two mint tokens for ever.
 *
 * So a process forgives a bucket once within the time τ, counted by the store's clock. In that time
 * the two limits together give out at most what the larger one allows, and τ_big − τ_small more for
 * each process with the smaller limit. Otherwise the debt stands, and the wait in the denial is as
 * long as it really is. After a step back of the clock, a debt that was forgiven before it stands
 * for 2τ at most.
 */

/**
 * The debts that a process forgave lately: at most one for each bucket and burst offset within the
 * time of that offset. Bounded: where it is full, nothing more is forgiven. Thread-safe.
 */
final class Forgiven {

  private static final int MOST = 65_536;

  private static final long NEVER_NANOS = -1; // unsigned: the last instant

  private final Map<Debt, Long> untilNanos = new ConcurrentHashMap<>();

  /** No debt ends before it. A full memory is looked through when that has passed, not before. */
  private final AtomicLong firstEndNanos = new AtomicLong(NEVER_NANOS);

  /** When a debt was forgiven last; now, after a look. An earlier time is a step back. */
  private final AtomicLong latestNanos = new AtomicLong();

  private record Debt(String key, long offsetNanos) {}

  /** Returns true if the debt may be forgiven, once within the time of the burst offset. */
  boolean tryForgive(String key, long offsetNanos, long nowNanos) {
    Debt asked = new Debt(key, offsetNanos);
    Long knownNanos = untilNanos.get(asked);
    if (knownNanos == null
        ? untilNanos.size() >= MOST && !hasRoomAt(nowNanos)
        : isOpen(knownNanos, offsetNanos, nowNanos)) {
      return false;
    }
    long endNanos = nowNanos + offsetNanos; // unsigned, as a TAT
    boolean[] may = new boolean[1];
    untilNanos.compute(
        asked,
        (debt, lastEndNanos) -> {
          may[0] = lastEndNanos == null || !isOpen(lastEndNanos, offsetNanos, nowNanos);
          return may[0] ? Long.valueOf(endNanos) : lastEndNanos;
        });
    if (may[0]) {
      endsAt(endNanos); // last: a look that has not seen the entry has begun before this
      latestNanos.accumulateAndGet(nowNanos, Math::max);
    }
    return may[0];
  }

  /** Takes back what {@link #tryForgive} noted, for a debt that was certainly not forgiven. */
  void takeBack(String key, long offsetNanos) {
    untilNanos.remove(new Debt(key, offsetNanos));
  }

  /**
   * Whether an end still holds. One that is further away than two offsets comes from before a step
   * back of the clock, and would hold for as long as the step. The second offset is for calls that
   * overtake each other: the time of the later one may be the earlier.
   */
  private static boolean isOpen(long endNanos, long offsetNanos, long nowNanos) {
    return Long.compareUnsigned(endNanos, nowNanos) > 0
        && Long.compareUnsigned(endNanos - nowNanos, 2 * offsetNanos) <= 0;
  }

  private boolean hasRoomAt(long nowNanos) {
    boolean steppedBack = nowNanos < latestNanos.get();
    if (!steppedBack && Long.compareUnsigned(firstEndNanos.get(), nowNanos) > 0) {
      return false;
    }
    latestNanos.set(nowNanos);
    firstEndNanos.set(NEVER_NANOS); // both first: what comes while this looks is not missed
    Iterator<Map.Entry<Debt, Long>> debts = untilNanos.entrySet().iterator();
    while (debts.hasNext()) {
      Map.Entry<Debt, Long> debt = debts.next();
      if (isOpen(debt.getValue(), debt.getKey().offsetNanos, nowNanos)) {
        endsAt(debt.getValue());
      } else {
        debts.remove();
      }
    }
    return untilNanos.size() < MOST;
  }

  private void endsAt(long endNanos) {
    firstEndNanos.accumulateAndGet(
        endNanos, (one, other) -> Long.compareUnsigned(one, other) < 0 ? one : other);
  }
}
