// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import dev.sluice.AsyncLimiter;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.redis.RedisStore;
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
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.redisson.Redisson;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** The store, its peers, and the bound: a plain GET. Each as its documentation shows it. */
final class Subjects {

  static final String GET = "bound: GET";
  static final String SCRIPT = "bound: a script of TIME, GET, SET";
  static final String SEED = "Boulder's scheme";
  static final String BUCKET4J = "Bucket4j, Lettuce";
  static final String REDISSON = "Redisson RRateLimiter";
  static final String SLUICE = "Sluice";

  static final List<String> ALL = List.of(GET, SCRIPT, SEED, BUCKET4J, REDISSON, SLUICE);

  private static final long BURST = 1_000_000;
  private static final Duration PERIOD = Duration.ofDays(10);

  private Subjects() {}

  static Subject make(String name, URI uri, int buckets) {
    return switch (name) {
      case GET -> get(uri);
      case SCRIPT -> script(uri);
      case SEED -> seed(uri);
      case BUCKET4J -> bucket4j(uri);
      case REDISSON -> redisson(uri, buckets);
      case SLUICE -> sluice(uri);
      default ->
          throw new IllegalArgumentException("found \"" + name + "\", expected one of " + ALL);
    };
  }

  /** The bound: what a round trip costs at all. */
  private static Subject get(URI uri) {
    RedisClient client = RedisClient.create(uri.toString());
    StatefulRedisConnection<String, String> connection = client.connect();
    return new Named(GET, "get:") {
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

  /** The bound for who decides in a script: what each must call there, and nothing decided. */
  private static Subject script(URI uri) {
    RedisClient client = RedisClient.create(uri.toString());
    StatefulRedisConnection<String, String> connection = client.connect();
    String digest =
        connection
            .sync()
            .scriptLoad(
                "redis.call('TIME') local v = redis.call('GET', KEYS[1])"
                    + " redis.call('SET', KEYS[1], ARGV[1], 'PX', '4200000') return v");
    return new Named(SCRIPT, "script:") {
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

  /** Boulder's scheme: read, decide here, add, set the life. */
  private static Subject seed(URI uri) {
    RedisClient client = RedisClient.create(uri.toString());
    StatefulRedisConnection<String, String> connection = client.connect();
    long interval = PERIOD.toNanos() / BURST;
    return new Named(SEED, "seed:") {
      @Override
      public void spend(int bucket) {
        String key = "seed:" + bucket;
        long now = System.currentTimeMillis() * 1_000_000;
        String stored = connection.sync().get(key);
        if (stored == null || Long.parseLong(stored) < now) {
          var unused = connection.sync().set(key, "" + (now + interval), SetArgs.Builder.ex(4_200));
        } else {
          var added = connection.async().incrby(key, interval);
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

  private static Subject bucket4j(URI uri) {
    RedisClient client = RedisClient.create(uri.toString());
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
    return new Named(BUCKET4J, "b4j:") {
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

  private static Subject redisson(URI uri, int bucketCount) {
    Config config = new Config();
    config.useSingleServer().setAddress("redis://" + uri.getAuthority());
    RedissonClient client = Redisson.create(config);
    RRateLimiter[] limiters = new RRateLimiter[bucketCount];
    for (int i = 0; i < bucketCount; i++) {
      limiters[i] = client.getRateLimiter("rds:" + i);
      var unused = limiters[i].trySetRate(RateType.OVERALL, BURST, PERIOD);
    }
    return new Named(REDISSON, "rds:") {
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

  private static Subject sluice(URI uri) {
    Limits limits =
        Limits.builder(Catalogue.of(LimitName.builder(3, "Measured").id(IdFormat.string()).build()))
            .limit("Measured", Quota.per(BURST, PERIOD))
            .build();
    RedisStore store = RedisStore.builder(uri).timeout(Duration.ofSeconds(10)).open();
    Limiter limiter = Limiter.of(limits, store);
    AsyncLimiter async = limiter.async();
    return new Named(SLUICE, "3:") {
      @Override
      public void spend(int bucket) {
        var unused = limiter.spend("Measured", "" + bucket);
      }

      @Override
      public CompletionStage<?> spendAsync(int bucket) {
        return async.spend("Measured", "" + bucket);
      }

      @Override
      public void close() {
        store.close();
      }
    };
  }

  private abstract static class Named implements Subject {
    private final String name;
    private final String prefix;

    Named(String name, String prefix) {
      this.name = name;
      this.prefix = prefix;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public @Nullable String redisKey(int bucket) {
      return prefix.equals("get:") ? null : prefix + bucket;
    }
  }
}
