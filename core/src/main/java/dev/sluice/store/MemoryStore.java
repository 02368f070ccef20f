package dev.sluice.store;

import dev.sluice.gcra.Gcra;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Buckets in this process's memory, in stripes of maps, each under its own lock.
 *
 * <p>A batch takes the locks of its keys' stripes in ascending order, which cannot deadlock, and
 * reads the clock once it holds them all: so time never runs backwards on a bucket. A bucket whose
 * TAT has passed is a full one; such entries are swept out when a stripe has doubled, by the call
 * that doubles it. There is no background thread.
 */
final class MemoryStore implements BucketStore {

  static final long DEFAULT_MAX_BUCKETS = 10_000_000;

  private static final int STRIPES = 256;
  private static final int FIRST_SWEEP = 64;

  private final TimeSource time;
  private final long maxBuckets;
  private final Stripe[] stripes = new Stripe[STRIPES];
  private final AtomicLong buckets = new AtomicLong();

  MemoryStore(TimeSource time, long maxBuckets) {
    if (maxBuckets < 1) {
      throw new IllegalArgumentException(
          "maxBuckets: found " + maxBuckets + ", expected at least 1");
    }
    this.time = time;
    this.maxBuckets = maxBuckets;
    Arrays.setAll(stripes, i -> new Stripe());
  }

  @Override
  public List<Reading> charge(List<Charge> charges) {
    if (buckets.get() + charges.size() > maxBuckets) {
      sweepAll();
    }
    int[] held = charges.stream().mapToInt(c -> stripeOf(c.key())).sorted().distinct().toArray();
    return chargeLocked(charges, held, 0);
  }

  @Override
  public OptionalLong liveBuckets() {
    return OptionalLong.of(buckets.get());
  }

  private List<Reading> chargeLocked(List<Charge> charges, int[] stripesToLock, int next) {
    if (next < stripesToLock.length) {
      synchronized (stripes[stripesToLock[next]]) {
        return chargeLocked(charges, stripesToLock, next + 1);
      }
    }
    long nowNanos = time.nanos();
    List<Reading> readings = new ArrayList<>(charges.size());
    boolean passes = true;
    for (Charge charge : charges) {
      long tatNanos = stripeFor(charge.key()).tat(charge.key());
      passes &= charge.passes(nowNanos, tatNanos);
      readings.add(new Reading(nowNanos, tatNanos));
    }
    refuseOverBound(charges, readings, passes);
    for (int i = 0; i < charges.size(); i++) {
      Charge charge = charges.get(i);
      long tatNanos = readings.get(i).tatNanos();
      long afterNanos = charge.tatAfterNanos(nowNanos, tatNanos, passes);
      if (afterNanos != tatNanos) {
        stripeFor(charge.key()).put(charge.key(), afterNanos, nowNanos);
      }
    }
    return readings;
  }

  /** Nothing of a batch is applied where one of its new buckets would be over the bound. */
  private void refuseOverBound(List<Charge> charges, List<Reading> readings, boolean passes) {
    int fresh = 0;
    for (int i = 0; i < charges.size(); i++) {
      Reading reading = readings.get(i);
      long afterNanos =
          charges.get(i).tatAfterNanos(reading.nowNanos(), reading.tatNanos(), passes);
      if (reading.tatNanos() == Gcra.NO_TAT && afterNanos != Gcra.NO_TAT) {
        fresh++;
      }
    }
    if (fresh > 0 && buckets.get() + fresh > maxBuckets) {
      throw new StoreException(
          "the memory store is full: it keeps %d live buckets at most, and none is forgotten to"
                  .formatted(maxBuckets)
              + " make room; nothing was charged");
    }
  }

  private void sweepAll() {
    long nowNanos = time.nanos();
    for (Stripe stripe : stripes) {
      synchronized (stripe) {
        stripe.sweep(nowNanos);
      }
    }
  }

  private Stripe stripeFor(String key) {
    return stripes[stripeOf(key)];
  }

  private static int stripeOf(String key) {
    int hash = key.hashCode();
    return (hash ^ (hash >>> 8) ^ (hash >>> 16)) & (STRIPES - 1);
  }

  /** A part of the buckets; every method under its lock. */
  private final class Stripe {
    private final Map<String, Long> tats = new HashMap<>();
    private int sweepAtSize = FIRST_SWEEP;

    long tat(String key) {
      return tats.getOrDefault(key, Gcra.NO_TAT);
    }

    void put(String key, long tatNanos, long nowNanos) {
      if (Long.compareUnsigned(tatNanos, nowNanos) <= 0) {
        if (tats.remove(key) != null) {
          buckets.decrementAndGet();
        }
      } else if (tats.put(key, tatNanos) == null) {
        buckets.incrementAndGet();
        if (tats.size() >= sweepAtSize) {
          sweep(nowNanos);
        }
      }
    }

    void sweep(long nowNanos) {
      int before = tats.size();
      tats.values().removeIf(tat -> Long.compareUnsigned(tat, nowNanos) <= 0);
      buckets.addAndGet(tats.size() - before);
      sweepAtSize = Math.max(FIRST_SWEEP, 2 * tats.size());
    }
  }
}
