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
 * Over several servers a denial may come from a batch that took tokens on one server, is denied on
 * another, and gives back what it took. Such a denial is over in a moment, or in a longer one where
 * the machine or a server is slow. So a denial is kept for as long again as its TAT is known to
 * have stood. At first that is nothing. A bucket that denies for long is asked for after one round
 * trip, two, four and so on, up to the greatest age. Tokens that are missing for a moment deny for
 * two moments at most. Another TAT, in an allowance too, ends the time for which it stood: batches
 * that ask for the same repeatedly leave the same TAT each time.
 */

/**
 * Remembers which buckets are known to deny, in a table of fixed size where the last one wins a
 * place. Thread-safe, lock-free.
 */
final class DenialMemory {

  private final long maxAgeNanos;
  private final boolean mayBeTentative;
  private final @Nullable TimeSource clock;
  private final Timing timing;
  private final AtomicReferenceArray<@Nullable Entry> entries;
  private final AtomicIntegerArray stamps;

  /**
   * A memory.
   *
   * @param entries how many places it has; 0 switches it off
   * @param mayBeTentative whether batches over several servers may take tokens for a moment that
   *     they give back
   * @param clock the client's, where the store goes by it; null for the server's
   */
  DenialMemory(
      int entries,
      long maxAgeNanos,
      boolean mayBeTentative,
      @Nullable TimeSource clock,
      Timing timing) {
    this.mayBeTentative = mayBeTentative;
    this.timing = timing;
    this.maxAgeNanos = maxAgeNanos;
    this.clock = clock;
    this.entries = new AtomicReferenceArray<>(entries);
    this.stamps = new AtomicIntegerArray(entries);
  }

  /**
   * A denial that the store gave.
   *
   * @param since when this TAT was first told, without another one in between
   */
  private record Entry(
      String key, long nowNanos, long tatNanos, long sent, long received, int stamp, long since) {

    /** How old it may become, from the moment on at which it was asked for. */
    long mostNanos(long maxAgeNanos, boolean mayBeTentative) {
      long stoodNanos = Math.max(sent - since, 0);
      return mayBeTentative ? Math.min(maxAgeNanos, received - sent + stoodNanos) : maxAgeNanos;
    }
  }

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
    if (t - entry.sent > entry.mostNanos(maxAgeNanos, mayBeTentative)) {
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
    Entry before = last != null && last.key.equals(charge.key()) ? last : null;
    if (charge.passes(reading.nowNanos(), reading.tatNanos())) {
      if (before != null && charge.op().writes()) {
        forget(charge.key());
      } else if (before != null && before.tatNanos != reading.tatNanos()) {
        entries.compareAndSet(place, before, null);
      }
    } else {
      long received = timing.nanoTime();
      long since =
          before != null && before.stamp == stamp && before.tatNanos == reading.tatNanos()
              ? before.since
              : received;
      entries.set(
          place,
          new Entry(
              charge.key(),
              reading.nowNanos(),
              charge.tatAfterNanos(reading.nowNanos(), reading.tatNanos(), false),
              sent,
              received,
              stamp,
              since));
    }
  }

  /** To be called before and after a refund or reset. */
  void forget(String key) {
    if (entries.length() > 0) {
      stamps.incrementAndGet(place(key));
    }
  }

  private int place(String key) {
    return place(key, entries.length());
  }

  /** Returns where what is known of a bucket stands in a memory of some places. */
  static int place(String key, int entries) {
    int hash = key.hashCode();
    return Math.floorMod(hash ^ (hash >>> 16), entries);
  }
}
