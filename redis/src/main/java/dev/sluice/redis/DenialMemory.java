package dev.sluice.redis;

import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import dev.sluice.store.TimeSource;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/*
 * A bucket that denied a cost will deny it until its TAT has come near enough, whatever others spend
 * meanwhile: a TAT only falls by a refund, a reset, or the next attempt under a smaller limit. Until
 * then the denial can be answered here.
 *
 * The store's clock is not read for that. It showed `now` at some moment between sending the
 * question and receiving the answer; so at the time t it shows
 *
 *        now + (t − received)   ≤   the store's time at t   ≤   now + (t − sent)
 *
 * A denial is given only if even the later of the two denies, so none lasts longer than it would in
 * the store. It is told with the earlier one, so that the wait it names is never too short.
 *
 * What this process refunds or resets is forgotten before and after: an answer that was on its way
 * meanwhile must not bring it back, so each place carries a stamp which a forgetting moves on, and
 * what was learned under an older stamp does not count. So is, after it, what this process spends
 * (a smaller cost may still have fitted), since the wait is longer then. What another process does
 * is seen when an entry has reached its greatest age, at the latest.
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

  private record Entry(
      String key, long nowNanos, long tatNanos, long sent, long received, int stamp) {}

  /** What the store would find, if it is certain to deny; null where it must be asked. */
  @Nullable Reading denial(Charge charge) {
    if (entries.length() == 0 || !charge.act().votes()) {
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
    // A TAT beyond now + τ is for the store to mend.
    boolean beyond = Long.compareUnsigned(entry.tatNanos - earliest, charge.offsetNanos()) > 0;
    return steppedBack || beyond || charge.passes(latest, entry.tatNanos)
        ? null
        : new Reading(earliest, entry.tatNanos);
  }

  /** To be taken before the store is asked, and handed to {@link #learn}. */
  int stamp(String key) {
    return entries.length() == 0 ? 0 : stamps.get(place(key));
  }

  /** Keeps a denial that the store gave, and forgets one after which there was an allowance. */
  void learn(Charge charge, Reading reading, long sent, int stamp) {
    if (entries.length() == 0) {
      return;
    }
    if (charge.passes(reading.nowNanos(), reading.tatNanos())) {
      Entry entry = entries.get(place(charge.key()));
      if (charge.act().writes() && entry != null && entry.key.equals(charge.key())) {
        forget(charge.key());
      }
    } else {
      long tatNanos = charge.tatAfterNanos(reading.nowNanos(), reading.tatNanos(), false);
      entries.set(
          place(charge.key()),
          new Entry(charge.key(), reading.nowNanos(), tatNanos, sent, timing.nanoTime(), stamp));
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
