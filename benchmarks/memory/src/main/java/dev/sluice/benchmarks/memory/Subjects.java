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
 * A limiter to measure, or an upper bound for the speed of limiters. Each limiter limits requests
 * per key in the way that its documentation recommends. All limiters have the same limit: a bucket
 * has {@code burst} tokens, and one token refills per {@code interval}.
 */
enum Subjects {
  /** Sluice, with the handle of a limit ({@link Limit}). */
  SLUICE {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      Limit limit = limit(burst, interval);
      return limit::trySpend;
    }
  },
  /** Sluice, with the handle of a limit, and with a clock that advances once per millisecond. */
  SLUICE_TICKING {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      TimeSource ticking = TimeSource.ticking(Duration.ofMillis(1));
      Limit limit = limiter(burst, interval, ticking).limit(NAME);
      return limit::trySpend;
    }
  },
  /**
   * Sluice, with the ordinary API: the limit and the id are strings, and the result is a decision.
   */
  SLUICE_BY_NAME {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      Limiter limiter = limiter(burst, interval, TimeSource.system());
      return key -> limiter.spend(NAME, key).allowed();
    }
  },
  /** Sluice, deciding on 32 ids in one call. */
  SLUICE_BULK {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      Limit limit = limit(burst, interval);
      return new Together(limit, (requests, from) -> limit.trySpendEach(requests.together(from)));
    }
  },
  /**
   * Sluice, deciding on 32 ids in one call. The ids are bytes, as a server receives ids from the
   * network.
   */
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
  /** A hand-written limiter: a map of TATs from which no entry is removed. */
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
  /** An upper bound for a limiter's speed: only looks up the key in a map. */
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
  /**
   * An upper bound for a limiter's speed: hashes the key without protection against attackers, and
   * reads one cache line.
   */
  READ_A_LINE {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      int count = lines(keys);
      long[] lines = new long[count * LONGS_OF_A_LINE];
      return key -> lines[start(key, count)] == 0;
    }
  },
  /**
   * An upper bound for a limiter's speed: hashes the key as {@link #READ_A_LINE} does, reads the
   * clock, and makes one compare-and-swap in the cache line. An exact limiter needs at least as
   * many memory accesses per decision as {@code CLOCK_AND_SWAP}.
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
   * An upper bound for a limiter's speed with few keys, whose cache lines stay in the processor's
   * cache. In addition to the work of {@link #CLOCK_AND_SWAP}, copies the id, checks its format,
   * and hashes its bytes with a secret key.
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
  /** An upper bound for a limiter's speed: reads the clock once, in the same way as a decision. */
  READ_THE_CLOCK {
    @Override
    Spender make(int keys, long burst, Duration interval) {
      TimeSource time = TimeSource.system();
      return key -> time.nanos() > 0;
    }
  };

  private static final int LONGS_OF_A_LINE = 8;

  /** The limiters whose heap memory is measured. Each limiter has a different data structure. */
  static final List<Subjects> WITH_BUCKETS =
      List.of(SLUICE, BUCKET4J, RESILIENCE4J, GUAVA, FAILSAFE, MAP_GCRA);

  private static final String NAME = "CallsPerKey";

  private static Limit limit(long burst, Duration interval) {
    return limiter(burst, interval, TimeSource.system()).limit(NAME);
  }

  /** Creates the limiter for a number of keys. */
  abstract Spender make(int keys, long burst, Duration interval);

  /** Returns whether the limiter accepts ids as bytes. */
  boolean takesBytes() {
    return false;
  }

  /** Decides on {@link Requests#TOGETHER} requests, beginning with the request at an index. */
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

  /** Returns how many cache lines Sluice's table has for a number of buckets. */
  private static int lines(int keys) {
    return (int) Math.ceil(keys * 0.33);
  }

  /** Returns the array index at which the cache line of a key begins. */
  private static int start(String key, int lines) {
    int hash = 0;
    for (int i = 0; i < key.length(); i++) {
      hash = (hash ^ key.charAt(i)) * 0x01000193;
    }
    return start(hash * 0x9e3779b1L, lines);
  }

  /**
   * Returns the array index at which the cache line of a hash begins. The lower 32 bits of the hash
   * determine the cache line.
   */
  private static int start(long hash, int lines) {
    return (int) (((hash & 0xffffffffL) * lines) >>> 32) * LONGS_OF_A_LINE;
  }

  private static boolean swap(AtomicLongArray lines, int at, TimeSource time) {
    long nowNanos = time.nanos();
    return lines.compareAndSet(at, lines.get(at), nowNanos);
  }

  /** Returns the name of the limiter in tables. */
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
