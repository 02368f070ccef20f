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
 * A bucket that denied a cost denies the same cost until the time is close enough to the bucket's
 * TAT. Only a refund, a reset, or the next spend under a smaller limit lowers the TAT. Until the
 * TAT is lowered, the denial can be repeated from memory.
 *
 * To repeat a denial, this process need not know the store's current time. The store's clock showed
 * `now` at some instant between sending the request and receiving the response. Therefore, at the
 * local time t:
 *
 *        now + (t − received)   ≤   the store's time at t   ≤   now + (t − sent)
 *
 * A denial is repeated from memory only if the charge is denied even at the later of the two times,
 * so no denial lasts longer than in the store. The repeated denial uses the earlier time to compute
 * the wait, so the wait is never too short.
 *
 * A refund or a reset by this process clears the remembered denial before the request is sent and
 * after its response has arrived. A response that was in flight when the denial was cleared must
 * not restore the denial. Each place of the table therefore has a stamp. Clearing a place
 * increments the stamp, and an entry with an older stamp is ignored. A spend by this process also
 * clears the denial: a spend with a smaller cost can have been admitted, which makes the wait
 * longer. Charges by other processes take effect at the latest when an entry reaches its maximum
 * age.
 *
 * With several servers, no denial is remembered: a bucket can lack tokens only because of a batch
 * that is denied on another server and soon refunds the tokens.
 */

/**
 * Remembers denials of buckets in a hash table of fixed size. A new entry replaces an older entry
 * in the same place of the table. Thread-safe, lock-free.
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
   * @param entries the number of places in the table; 0 disables the memory
   * @param clock the client's clock if the store uses it; null for the server's clock
   */
  DenialMemory(int entries, long maxAgeNanos, @Nullable TimeSource clock, Timing timing) {
    this.timing = timing;
    this.maxAgeNanos = maxAgeNanos;
    this.clock = clock;
    this.entries = new AtomicReferenceArray<>(entries);
    this.stamps = new AtomicIntegerArray(entries);
  }

  /** A remembered denial by the store. */
  private record Entry(
      String key, long nowNanos, long tatNanos, long sent, long received, int stamp) {}

  /**
   * Returns the time and the TAT for a charge that is certainly denied, computed from a remembered
   * denial; null if the store must decide.
   */
  @Nullable Reading denial(Charge charge) {
    // A settlement's SPEND_UP_TO is never answered from memory, since tokens that SPEND_UP_TO
    // cannot spend at once are never charged later.
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

  /**
   * Returns the stamp (a counter) of a key's place in the table, for {@link #learn}. Call this
   * method before the charge is sent.
   */
  int stamp(String key) {
    return entries.length() == 0 ? 0 : stamps.get(place(key));
  }

  /**
   * Remembers a denial. Clears a remembered denial if a spend was admitted or the TAT has changed.
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

  /** Clears a remembered denial. Call this method before and after a refund or reset. */
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
