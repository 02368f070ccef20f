// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.TimeSource;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/*
 * A bucket that denied a cost will deny it until its TAT is near enough, whatever others spend
 * until then. Only a refund, a reset, or the next attempt under a smaller limit lowers a TAT. Until
 * then the denial can be answered here.
 *
 * This needs no reading of the store's clock. The clock showed `now` at some moment between sending
 * the request and receiving the answer; so at the time t it shows
 *
 *        now + (t − received)   ≤   the store's time at t   ≤   now + (t − sent)
 *
 * A denial is answered from memory only if the later of the two times denies, so no denial lasts
 * longer than in the store. It reports the earlier time, so that its wait is never too short.
 *
 * A refund or a reset by this process clears the remembered denial before it is sent and after it
 * is answered. An answer that was in flight meanwhile must not bring the denial back. So each place
 * has a stamp, which clearing increments, and an entry with an older stamp does not count. A spend
 * by this process also clears the denial: a smaller cost may still have fitted, and the wait is
 * longer then. Charges by other processes are seen at the latest when an entry reaches its maximum
 * age.
 *
 * With several servers nothing is remembered: a denial may come from a batch that took tokens on
 * one server, is denied on another, and gives the tokens back a moment later.
 */

/**
 * Remembers denials of buckets, in a hash table of fixed size in which a new entry replaces the old
 * one. Thread-safe, lock-free.
 */
final class DenialMemory {

  private final long maxAgeNanos;
  private final @Nullable TimeSource clock;
  private final Timing timing;
  private final AtomicReferenceArray<@Nullable Entry> entries;
  private final AtomicIntegerArray stamps;

  /**
   * Creates an empty memory.
   *
   * @param entries how many places it has; 0 switches it off
   * @param clock the client's clock if the store uses it; null for the server's clock
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

  /** Returns the reading of a certain denial; null if the store must be asked. */
  @Nullable Reading denial(Charge charge) {
    // A settlement may spend up to a number; what it cannot spend now is never charged.
    boolean mayAnswer =
        charge.op().votes() && charge.op() != Op.FORGIVE && charge.op() != Op.SPEND_UP_TO;
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

  /** Returns the stamp to pass to {@link #learn}; to be called before the store is asked. */
  int stamp(String key) {
    return entries.length() == 0 ? 0 : stamps.get(place(key));
  }

  /**
   * Remembers a denial, and clears a remembered one if a spend was allowed or the TAT has changed.
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

  /** Clears a remembered denial; to be called before and after a refund or reset. */
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
