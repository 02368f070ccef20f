// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import com.google.common.util.concurrent.RateLimiter;
import dev.failsafe.RateLimiterConfig;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.direct.IdBytes;
import dev.sluice.internal.direct.SipHash;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;
import io.github.bucket4j.Bucket;
import io.github.resilience4j.ratelimiter.RateLimiterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The limiters to compare, each set up for limits by key as its documentation shows, with the same
 * limit: {@code burst} tokens that refill one every {@code interval}.
 */
enum Subjects {
  /** Sluice through the handle of a limit. */
  SLUICE {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      Limit limit = limit(burst, interval);
      return limit::trySpend;
    }
  },
  /** Sluice through the handle, on a clock that ticks every millisecond. */
  SLUICE_TICKING {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      TimeSource ticking = TimeSource.ticking(Duration.ofMillis(1));
      Limit limit = limiter(burst, interval, ticking).limit(NAME);
      return limit::trySpend;
    }
  },
  /** Sluice through the ordinary API: limit and id as strings, a decision as the result. */
  SLUICE_BY_NAME {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      Limiter limiter = limiter(burst, interval, TimeSource.system());
      return key -> limiter.spend(NAME, key).allowed();
    }
  },
  /** Sluice with 32 ids at a time. */
  SLUICE_BULK {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      Limit limit = limit(burst, interval);
      return new Together(limit, (requests, from) -> limit.trySpendEach(requests.together(from)));
    }
  },
  /** Sluice with 32 ids at a time as bytes, as they arrive from a network. */
  SLUICE_BULK_BYTES {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      Limit limit = limit(burst, interval);
      return new Together(
          limit, (requests, from) -> limit.trySpendEach(requests.bytesTogether(from)));
    }

    @Override
    boolean takesBytes() {
      return true;
    }
  },
  BUCKET4J {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      ConcurrentHashMap<String, Bucket> buckets = new ConcurrentHashMap<>();
      return key -> {
        Bucket bucket = buckets.get(key);
        if (bucket == null) {
          bucket =
              buckets.computeIfAbsent(
                  key,
                  k ->
                      Bucket.builder()
                          .addLimit(limit -> limit.capacity(burst).refillGreedy(1, interval))
                          .build());
        }
        return bucket.tryConsume(1);
      };
    }
  },
  RESILIENCE4J {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      RateLimiterRegistry registry =
          RateLimiterRegistry.of(
              io.github.resilience4j.ratelimiter.RateLimiterConfig.custom()
                  .limitForPeriod((int) Math.min(burst, Integer.MAX_VALUE))
                  .limitRefreshPeriod(interval)
                  .timeoutDuration(Duration.ZERO)
                  .build());
      return key -> registry.rateLimiter(key).acquirePermission();
    }
  },
  GUAVA {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      double perSecond = Math.max(1e9 / interval.toNanos(), 1e-6) * burst;
      ConcurrentHashMap<String, RateLimiter> limiters = new ConcurrentHashMap<>();
      return key -> {
        RateLimiter limiter = limiters.get(key);
        if (limiter == null) {
          limiter = limiters.computeIfAbsent(key, k -> RateLimiter.create(perSecond));
        }
        return limiter.tryAcquire();
      };
    }
  },
  FAILSAFE {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      ConcurrentHashMap<String, dev.failsafe.RateLimiter<Object>> limiters =
          new ConcurrentHashMap<>();
      RateLimiterConfig<Object> config =
          dev.failsafe.RateLimiter.burstyBuilder(burst, interval).build().getConfig();
      return key -> {
        dev.failsafe.RateLimiter<Object> limiter = limiters.get(key);
        if (limiter == null) {
          limiter =
              limiters.computeIfAbsent(key, k -> dev.failsafe.RateLimiter.builder(config).build());
        }
        return limiter.tryAcquirePermit();
      };
    }
  },
  /** A hand-written map of TATs that never shrinks. */
  MAP_GCRA {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      ConcurrentHashMap<String, AtomicLong> tats = new ConcurrentHashMap<>();
      long intervalNanos = interval.toNanos();
      long offsetNanos = intervalNanos * burst;
      return key -> {
        AtomicLong tat = tats.get(key);
        if (tat == null) {
          tat = tats.computeIfAbsent(key, k -> new AtomicLong(Long.MIN_VALUE));
        }
        while (true) {
          long nowNanos = System.nanoTime();
          long seenNanos = tat.get();
          long afterNanos = Math.max(seenNanos, nowNanos) + intervalNanos;
          if (afterNanos - nowNanos > offsetNanos) {
            return false;
          }
          if (tat.compareAndSet(seenNanos, afterNanos)) {
            return true;
          }
        }
      };
    }
  },
  /** A bound without a limiter: only the look-up of the key. */
  MAP_GET {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      ConcurrentHashMap<String, AtomicLong> map = new ConcurrentHashMap<>();
      return key -> {
        AtomicLong found = map.get(key);
        if (found == null) {
          found = map.computeIfAbsent(key, k -> new AtomicLong(1));
        }
        return found.getPlain() != 0;
      };
    }
  },
  /** A bound: a hash of the text that does not resist attackers, and a read of one cache line. */
  READ_A_LINE {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      int count = lines(keys);
      long[] lines = new long[count * LONGS_OF_A_LINE];
      return key -> lines[start(key, count)] == 0;
    }
  },
  /**
   * A bound: the memory accesses of an exact decision without the decision. The same hash, a clock
   * reading, and one compare-and-swap in the cache line.
   */
  CLOCK_AND_SWAP {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      TimeSource time = TimeSource.system();
      int count = lines(keys);
      AtomicLongArray lines = new AtomicLongArray(count * LONGS_OF_A_LINE);
      return key -> swap(lines, start(key, count), time);
    }
  },
  /**
   * A bound for few keys, whose cache lines are near: as above, plus naming the bucket of an id.
   * The text is copied and its form checked, and its bytes are hashed with a secret key.
   */
  HASH_AND_SWAP {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      TimeSource time = TimeSource.system();
      IdFormat format = IdFormat.string();
      SipHash start = new SipHash(ThreadLocalRandom.current().nextLong(), 1);
      int count = lines(keys);
      AtomicLongArray lines = new AtomicLongArray(count * LONGS_OF_A_LINE);
      return key -> {
        IdBytes id = IdBytes.ofThisThread();
        if (!id.set(key) || !format.isCanonical(id.bytes(), id.length())) {
          return false;
        }
        long place = id.hashAfter(start).second();
        return swap(lines, start(place, count), time);
      };
    }
  },
  /** A bound: one reading of the clock that decisions use. */
  READ_THE_CLOCK {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      TimeSource time = TimeSource.system();
      return key -> time.nanos() > 0;
    }
  };

  private static final int LONGS_OF_A_LINE = 8;

  /** The subjects for the table of heap sizes: each kind of data structure once. */
  static final List<Subjects> WITH_BUCKETS =
      List.of(SLUICE, BUCKET4J, RESILIENCE4J, GUAVA, FAILSAFE, MAP_GCRA);

  private static final String NAME = "CallsPerKey";

  private static Limit limit(long burst, Duration interval) {
    return limiter(burst, interval, TimeSource.system()).limit(NAME);
  }

  /** Creates the limiter for a number of keys, each with a bucket of {@code burst} tokens. */
  abstract Spender make(int keys, long burst, Duration interval);

  /** Whether the limiter takes the ids of requests as bytes. */
  boolean takesBytes() {
    return false;
  }

  /** Decides on {@link Requests#TOGETHER} requests, starting at an index. */
  private interface Deciding {
    boolean[] decide(Requests requests, int from);
  }

  private record Together(Limit limit, Deciding deciding) implements Spender {
    @Override
    public boolean trySpend(String key) {
      return limit.trySpend(key);
    }

    @Override
    public int trySpendEach(Requests requests) {
      int allowed = 0;
      for (int from = 0; from < requests.size(); from += Requests.TOGETHER) {
        for (boolean one : deciding.decide(requests, from)) {
          allowed += one ? 1 : 0;
        }
      }
      return allowed;
    }
  }

  /** Returns how many lines Sluice's table has for a number of buckets. */
  private static int lines(int keys) {
    return (int) Math.ceil(keys * 0.33);
  }

  /** Returns the index at which the line of a text begins. */
  private static int start(String key, int lines) {
    int hash = 0;
    for (int i = 0; i < key.length(); i++) {
      hash = (hash ^ key.charAt(i)) * 0x01000193;
    }
    return start(hash * 0x9e3779b1L, lines);
  }

  /** Returns the index at which the line of a hash begins, from its lower 32 bits. */
  private static int start(long hash, int lines) {
    return (int) (((hash & 0xffffffffL) * lines) >>> 32) * LONGS_OF_A_LINE;
  }

  private static boolean swap(AtomicLongArray lines, int at, TimeSource time) {
    long nowNanos = time.nanos();
    return lines.compareAndSet(at, lines.get(at), nowNanos);
  }

  /** Returns the name for tables. */
  String title() {
    return name().toLowerCase(java.util.Locale.ROOT).replace('_', '-');
  }

  private static Limiter limiter(long burst, Duration interval, TimeSource time) {
    Limits limits =
        Limits.builder(Catalogue.of(LimitName.builder(1, NAME).id(IdFormat.string()).build()))
            .limit(NAME, Quota.burst(burst).refill(1, interval))
            .build();
    return Limiter.of(limits, BucketStore.inMemory(time, 100_000_000));
  }
}
