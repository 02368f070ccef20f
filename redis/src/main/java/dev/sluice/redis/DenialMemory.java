// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import dev.sluice.store.TimeSource;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/*
 * A bucket that denied a cost will deny it until its TAT has come near enough, whatever others
 * spend until then. A TAT only falls by a refund, a reset, or the next attempt under a smaller
 * limit. Until then the denial can be answered here.
 *
 * The store's clock is not read for that. It showed `now` at some moment between sending the
 * question and receiving the answer; so at the time t it shows
 *
 *        now + (t − received)   ≤   the store's time at t   ≤   now + (t − sent)
 *
 * A denial is given only if even the later of the two denies, so none lasts longer than it would in
 * the store. It is told with the earlier one, so that the wait it names is never too short.
 *
 * A refund or a reset by this process makes it forget the denial, before and after. An answer that
 * was in flight at that time must not bring it back. So each place carries a stamp, which a
 * forgetting moves on, and what was learned under an older stamp does not count. A spend by this
 * process makes it forget too, afterwards: a smaller cost may still have fitted, and the wait is
 * longer then. An act of another process is seen when an entry has reached its greatest age, at the
 * latest.
 *
 * With several servers nothing is remembered: a denial may come from a batch that took tokens on one
 * server, is denied on another, and gives the tokens back a moment later.
 */

/**
 * Remembers which buckets are known to deny, in a table of fixed size where the last one wins a
 * place. Thread-safe, lock-free.
 */
final class DenialMemory {

  private final long maxAgeNanos;
  private final @Nullable TimeSource clock;
  private final Timing timing;
  private final AtomicReferenceArray<@Nullable Entry> entries;
  private final AtomicIntegerArray stamps;

  /**
   * A memory.
   *
   * @param entries how many places it has; 0 switches it off
   * @param clock the client's, where the store goes by it; null for the server's
   */
  DenialMemory(int entries, long maxAgeNanos, @Nullable TimeSource clock, Timing timing) {
    this.timing = timing;
    this.maxAgeNanos = maxAgeNanos;
    this.clock = clock;
    this.entries = new AtomicReferenceArray<>(entries);
    this.stamps = new AtomicIntegerArray(entries);
  }

  /** A denial that the store gave. */
  private record Entry(
      String key, long nowNanos, long tatNanos, long sent, long received, int stamp) {}

  /** Returns the reading of a store that is certain to deny; null where it must be asked. */
  @Nullable Reading denial(Charge charge) {
    boolean mayAnswer = charge.op() == Op.CHECK || charge.op() == Op.SPEND;
    if (entries.length() == 0 || !mayAnswer || charge.incrementNanos() == 0) {
      return null;
    }
    int place = place(charge.key());
    Entry entry = entries.get(place);
    if (entry == null || !entry.key.equals(charge.key()) || entry.stamp != stamps.get(place)) {
      return null;
    }
    long t = timing.nanoTime();
    if (t - entry.sent > maxAgeNanos) {
      return null;
    }
    long earliest =
        clock == null ? entry.nowNanos + Math.max(t - entry.received, 0) : clock.nanos();
    long latest = clock == null ? entry.nowNanos + (t - entry.sent) : earliest;
    boolean steppedBack = earliest < entry.nowNanos;
    return steppedBack || charge.passes(latest, entry.tatNanos)
        ? null
        : new Reading(earliest, entry.tatNanos);
  }

  /** To be taken before the store is asked, and handed to {@link #learn}. */
  int stamp(String key) {
    return entries.length() == 0 ? 0 : stamps.get(place(key));
  }

  /**
   * Keeps a denial that the store gave, and forgets one after which a spend was allowed, or another
   * TAT was found.
   */
  void learn(Charge charge, Reading reading, long sent, int stamp) {
    if (entries.length() == 0) {
      return;
    }
    int place = place(charge.key());
    Entry last = entries.get(place);
    if (!charge.passes(reading.nowNanos(), reading.tatNanos())) {
      entries.set(
          place,
          new Entry(
              charge.key(),
              reading.nowNanos(),
              charge.tatAfterNanos(reading.nowNanos(), reading.tatNanos(), false),
              sent,
              timing.nanoTime(),
              stamp));
    } else if (last != null && last.key.equals(charge.key())) {
      if (charge.op().writes()) {
        forget(charge.key());
      } else if (last.tatNanos != reading.tatNanos()) {
        entries.compareAndSet(place, last, null);
      }
    }
  }

  /** To be called before and after a refund or reset. */
  void forget(String key) {
    if (entries.length() > 0) {
      stamps.incrementAndGet(place(key));
    }
  }

  private int place(String key) {
    int hash = key.hashCode();
    return Math.floorMod(hash ^ (hash >>> 16), entries.length());
  }
}
