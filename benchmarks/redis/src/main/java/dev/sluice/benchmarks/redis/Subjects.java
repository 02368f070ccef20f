// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import dev.sluice.AsyncLimiter;
import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.redis.RedisStore;
import dev.sluice.redis.ScriptCalls;
import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.distributed.ExpirationAfterWriteStrategy;
import io.github.bucket4j.distributed.proxy.AsyncProxyManager;
import io.github.bucket4j.distributed.proxy.ProxyManager;
import io.github.bucket4j.redis.lettuce.Bucket4jLettuce;
import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.redisson.Redisson;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Creates the subjects of the benchmark: Sluice, other limiters, and bounds such as a plain GET.
 * Each limiter is configured in the way that its documentation recommends.
 */
final class Subjects {

  static final String GET = "bound: GET";
  static final String SCRIPT = "bound: a script of TIME, GET, SET";
  static final String HAND_OVER = "bound: queue, sleep and wake, without Redis";
  static final String BOULDER = "Boulder's scheme";
  static final String BUCKET4J = "Bucket4j, Lettuce";
  static final String REDISSON = "Redisson RRateLimiter";
  static final String SLUICE = "Sluice";
  static final String SETTLED = "Sluice, reserve and settle";
  static final String EPOLL = "Sluice, on Netty's epoll";
  static final String THREE = "Sluice, 3 charges a call";
  static final String EIGHT = "Sluice, 8 charges a call";

  static final String GET_BESIDE = "bound: GET, called alternately with Sluice";
  static final String BESIDE_GET = "Sluice, called alternately with GET";
  static final String GET_SET_ALONE = "bound: a script of 20 GET and SET";
  static final String SCRIPT_ALONE = "the script of Sluice, 20 charges a call";

  /**
   * The subjects for which a process is started. The process for {@link #BESIDE_GET} also measures
   * {@link #GET_BESIDE}.
   */
  static final List<String> ALL =
      List.of(
          GET,
          SCRIPT,
          HAND_OVER,
          BOULDER,
          BUCKET4J,
          REDISSON,
          SLUICE,
          SETTLED,
          EPOLL,
          THREE,
          EIGHT,
          BESIDE_GET,
          GET_SET_ALONE,
          SCRIPT_ALONE);

  /** The subjects that are printed in a separate table. */
  static final List<String> APART = List.of(GET_BESIDE, BESIDE_GET, GET_SET_ALONE, SCRIPT_ALONE);

  private static final long BURST = 1_000_000;
  private static final Duration PERIOD = Duration.ofDays(10);
  private static final long INTERVAL_NANOS = PERIOD.toNanos() / BURST;
  private static final int CHARGES_ALONE = 20;

  private Subjects() {}

  static Client make(String name, String uri, int buckets) {
    return switch (name) {
      case GET -> get(uri);
      case SCRIPT -> script(uri);
      case HAND_OVER -> new HandOver();
      case BOULDER -> boulder(uri);
      case BUCKET4J -> bucket4j(uri);
      case REDISSON -> redisson(uri, buckets);
      case SLUICE, EPOLL -> sluice(uri, 1, Load.ALL);
      case SETTLED -> settled(uri);
      case THREE -> sluice(uri, 3, List.of(Load.SIXTY_FOUR));
      case EIGHT -> sluice(uri, 8, List.of(Load.SIXTY_FOUR));
      case GET_SET_ALONE -> getAndSetAlone(uri, buckets);
      case SCRIPT_ALONE -> scriptAlone(uri, buckets);
      default ->
          throw new IllegalArgumentException("found \"" + name + "\", expected one of " + ALL);
    };
  }

  /**
   * Returns an upper bound for the speed of all limiters: one GET, which is a round trip without a
   * decision.
   */
  private static Client get(String uri) {
    RedisClient client = RedisClient.create(uri);
    StatefulRedisConnection<String, String> connection = client.connect();
    return new Keyed("get:", Load.ALL) {
      @Override
      public @Nullable String redisKey(int bucket) {
        return null; // a GET has no bucket
      }

      @Override
      public void spend(int bucket) {
        var unused = connection.sync().get("get:" + bucket);
      }

      @Override
      public CompletionStage<?> spendAsync(int bucket) {
        return connection.async().get("get:" + bucket);
      }

      @Override
      public void close() {
        client.shutdown();
      }
    };
  }

  /**
   * Returns an upper bound for the speed of all limiters with a script: a script with only the
   * commands that every decision needs.
   */
  private static Client script(String uri) {
    RedisClient client = RedisClient.create(uri);
    StatefulRedisConnection<String, String> connection = client.connect();
    String digest =
        connection
            .sync()
            .scriptLoad(
                "redis.call('TIME') local v = redis.call('GET', KEYS[1])"
                    + " redis.call('SET', KEYS[1], ARGV[1], 'PX', '4200000') return v");
    return new Keyed("script:", Load.ALL) {
      @Override
      public void spend(int bucket) {
        String unused =
            connection
                .sync()
                .evalsha(digest, ScriptOutputType.VALUE, keys(bucket), "1234567890123456789");
      }

      @Override
      public CompletionStage<?> spendAsync(int bucket) {
        return connection
            .async()
            .evalsha(digest, ScriptOutputType.VALUE, keys(bucket), "1234567890123456789");
      }

      private String[] keys(int bucket) {
        return new String[] {"script:" + bucket};
      }

      @Override
      public void close() {
        client.shutdown();
      }
    };
  }

  /**
   * Returns a limiter that works like Boulder: it reads the TAT, decides in the client, writes the
   * new TAT, and sets the time to live.
   */
  private static Client boulder(String uri) {
    RedisClient client = RedisClient.create(uri);
    StatefulRedisConnection<String, String> connection = client.connect();
    return new Keyed("boulder:", Load.BLOCKING) {
      @Override
      public void spend(int bucket) {
        String key = "boulder:" + bucket;
        long now = System.currentTimeMillis() * 1_000_000;
        String stored = connection.sync().get(key);
        if (stored == null || Long.parseLong(stored) < now) {
          var unused =
              connection.sync().set(key, "" + (now + INTERVAL_NANOS), SetArgs.Builder.ex(4_200));
        } else {
          var added = connection.async().incrby(key, INTERVAL_NANOS);
          var unused = connection.sync().expire(key, 4_200);
          unused &= added.toCompletableFuture().join() > 0;
        }
      }

      @Override
      public void close() {
        client.shutdown();
      }
    };
  }

  private static Client bucket4j(String uri) {
    RedisClient client = RedisClient.create(uri);
    ProxyManager<String> buckets =
        Bucket4jLettuce.casBasedBuilder(
                client.connect(RedisCodec.of(StringCodec.UTF8, ByteArrayCodec.INSTANCE)))
            .expirationAfterWrite(
                ExpirationAfterWriteStrategy.basedOnTimeForRefillingBucketUpToMax(PERIOD))
            .build();
    AsyncProxyManager<String> async = buckets.asAsync();
    BucketConfiguration configuration =
        BucketConfiguration.builder()
            .addLimit(limit -> limit.capacity(BURST).refillGreedy(BURST, PERIOD))
            .build();
    return new Keyed("b4j:", Load.ALL) {
      @Override
      public void spend(int bucket) {
        var unused = buckets.builder().build("b4j:" + bucket, () -> configuration).tryConsume(1);
      }

      @Override
      public CompletionStage<?> spendAsync(int bucket) {
        return async
            .builder()
            .build("b4j:" + bucket, () -> CompletableFuture.completedFuture(configuration))
            .tryConsume(1);
      }

      @Override
      public void close() {
        client.shutdown();
      }
    };
  }

  private static Client redisson(String uri, int bucketCount) {
    Config config = new Config();
    config.useSingleServer().setAddress("redis://" + URI.create(uri).getAuthority());
    RedissonClient client = Redisson.create(config);
    RRateLimiter[] limiters = new RRateLimiter[bucketCount];
    for (int i = 0; i < bucketCount; i++) {
      limiters[i] = client.getRateLimiter("rds:" + i);
      var unused = limiters[i].trySetRate(RateType.OVERALL, BURST, PERIOD);
    }
    return new Keyed("rds:", Load.BLOCKING) {
      @Override
      public void spend(int bucket) {
        var unused = limiters[bucket].tryAcquire();
      }

      @Override
      public void close() {
        client.shutdown();
      }
    };
  }

  /** Returns Sluice. Each call spends from {@code charges} buckets of different limits. */
  private static Client sluice(String uri, int charges, List<Load> loads) {
    List<LimitName> names =
        IntStream.range(0, charges)
            .mapToObj(i -> LimitName.builder(3 + i, "Measured" + i).id(IdFormat.string()).build())
            .toList();
    Limits.Builder limits = Limits.builder(Catalogue.of(names.toArray(LimitName[]::new)));
    names.forEach(name -> limits.limit(name.name(), Quota.per(BURST, PERIOD)));
    RedisStore store = RedisStore.builder(uri).timeout(Duration.ofSeconds(10)).open();
    Limiter limiter = Limiter.of(limits.build(), store);
    AsyncLimiter async = limiter.async();
    return new Keyed("3:", loads) {
      @Override
      public int charges() {
        return charges;
      }

      @Override
      public void spend(int bucket) {
        if (charges == 1) {
          var unused = limiter.spend("Measured0", "" + bucket);
          return;
        }
        List<Transaction> batch = new ArrayList<>(charges);
        for (LimitName name : names) {
          batch.add(limiter.transaction(name.name(), "" + bucket));
        }
        var unused = limiter.spend(batch);
      }

      @Override
      public CompletionStage<?> spendAsync(int bucket) {
        return async.spend("Measured0", "" + bucket);
      }

      @Override
      public void close() {
        store.close();
      }
    };
  }

  /**
   * Returns a subject that makes reservations with Sluice. Each call reserves 3 tokens and settles
   * a true cost of 2 or 4, depending on the bucket. Each settlement refunds a token or spends a
   * further token. The smaller loads are measured first, as for {@link #SLUICE}, so that the JVMs
   * of both subjects are equally warm.
   */
  private static Client settled(String uri) {
    LimitName name = LimitName.builder(3, "Measured").id(IdFormat.string()).build();
    Limits limits =
        Limits.builder(Catalogue.of(name)).limit("Measured", Quota.per(BURST, PERIOD)).build();
    RedisStore store = RedisStore.builder(uri).timeout(Duration.ofSeconds(10)).open();
    Limiter limiter = Limiter.of(limits, store);
    return new Keyed("3:", Load.BLOCKING) {
      @Override
      public int charges() {
        return 2;
      }

      @Override
      public void spend(int bucket) {
        try (Reservation call = limiter.reserve("Measured", "" + bucket, 3)) {
          call.settle(Map.of("Measured", bucket % 2 == 0 ? 2L : 4L));
        }
      }

      @Override
      public void close() {
        store.close();
      }
    };
  }

  /**
   * Returns a subject that runs Sluice's script without the store. One call has many charges, as if
   * several callers shared the call, so that the client's share of the measured work is small.
   */
  private static Client scriptAlone(String uri, int buckets) {
    ScriptCalls calls = new ScriptCalls(uri, CHARGES_ALONE, INTERVAL_NANOS, BURST * INTERVAL_NANOS);
    return new Alone("3:", buckets) {
      @Override
      public CompletionStage<?> spendAsync(int bucket) {
        return calls.call(keys(bucket));
      }

      @Override
      public void close() {
        calls.close();
      }
    };
  }

  /**
   * Returns an upper bound for the speed of {@link #scriptAlone}: a script with only the commands
   * that every decision needs.
   */
  private static Client getAndSetAlone(String uri, int buckets) {
    RedisClient client = RedisClient.create(uri);
    StatefulRedisConnection<String, String> connection = client.connect();
    String digest =
        connection
            .sync()
            .scriptLoad(
                "redis.call('TIME') local found = {} for i = 1, #KEYS do"
                    + " found[i] = redis.call('GET', KEYS[i])"
                    + " redis.call('SET', KEYS[i], ARGV[1], 'PXAT', ARGV[2]) end return found");
    String tomorrow = "" + (System.currentTimeMillis() + Duration.ofDays(1).toMillis());
    return new Alone("script:", buckets) {
      @Override
      public CompletionStage<?> spendAsync(int bucket) {
        return connection
            .async()
            .evalsha(digest, ScriptOutputType.MULTI, keys(bucket), "1234567890123456789", tomorrow);
      }

      @Override
      public void close() {
        client.shutdown();
      }
    };
  }

  private abstract static class Keyed implements Client {
    private final String prefix;
    private final List<Load> loads;

    Keyed(String prefix, List<Load> loads) {
      this.prefix = prefix;
      this.loads = loads;
    }

    @Override
    public List<Load> loads() {
      return loads;
    }

    @Override
    public @Nullable String redisKey(int bucket) {
      return prefix + bucket;
    }
  }

  /** A subject that runs a script without Sluice's store. */
  private abstract static class Alone extends Keyed {
    private final String prefix;
    private final int buckets;

    Alone(String prefix, int buckets) {
      super(prefix, List.of(Load.EIGHT_CALLS));
      this.prefix = prefix;
      this.buckets = buckets;
    }

    @Override
    public int charges() {
      return CHARGES_ALONE;
    }

    @Override
    public @Nullable String redisKey(int bucket) {
      return null;
    }

    @Override
    public void spend(int bucket) {
      throw new UnsupportedOperationException();
    }

    /** Returns the keys of one call, for different buckets whose numbers are far apart. */
    final String[] keys(int bucket) {
      String[] keys = new String[CHARGES_ALONE];
      for (int i = 0; i < keys.length; i++) {
        keys[i] = prefix + (bucket + i * (buckets / CHARGES_ALONE)) % buckets;
      }
      return keys;
    }
  }
}
