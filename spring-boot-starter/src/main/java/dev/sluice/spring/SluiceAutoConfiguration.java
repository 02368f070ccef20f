// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.AsyncLimiter;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.redis.RedisStore;
import dev.sluice.redis.RedisStoreBuilder;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.store.StoreObserver;
import dev.sluice.store.TimeSource;
import dev.sluice.yaml.LimitFiles;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.env.Environment;
import org.springframework.core.io.ResourceLoader;

/** Limits, a store, and the limiter. */
@AutoConfiguration
@ConditionalOnProperty(prefix = SluiceProperties.PREFIX, name = "enabled", matchIfMissing = true)
@EnableConfigurationProperties(SluiceProperties.class)
class SluiceAutoConfiguration {

  private static final Logger LOG = System.getLogger(SluiceAutoConfiguration.class.getName());

  /** Static, as it is needed before the properties are. */
  @Bean
  static UnknownProperties sluiceUnknownProperties() {
    return new UnknownProperties();
  }

  @Bean
  @ConditionalOnMissingBean({CurrentLimits.class, Limits.class, Limiter.class})
  LimitSource sluiceLimitSource(
      SluiceProperties properties, ResourceLoader resources, Environment environment) {
    return new LimitSource(properties, resources, environment);
  }

  /** A bean of limits that the application has made is used, and not reloaded. */
  @Bean
  @ConditionalOnMissingBean({CurrentLimits.class, Limiter.class})
  CurrentLimits sluiceLimits(ObjectProvider<LimitSource> source, ObjectProvider<Limits> limits) {
    LimitSource configured = source.getIfAvailable();
    return new CurrentLimits(configured == null ? limits.getObject() : configured.load());
  }

  @Bean
  @ConditionalOnMissingBean({BucketStore.class, Limiter.class})
  BucketStore sluiceStore(
      SluiceProperties properties,
      ObjectProvider<StoreOpener> openers,
      ObjectProvider<TimeSource> time) {
    if (properties.store().equals(SluiceProperties.MEMORY)) {
      TimeSource clock = time.getIfUnique();
      return clock == null ? BucketStore.inMemory() : BucketStore.inMemory(clock);
    }
    StoreOpener opener = openers.getIfAvailable();
    if (opener == null) {
      throw new SluiceConfigurationException(
          List.of("sluice.store: a store other than memory needs sluice-redis on the class path"),
          "Add the dependency dev.sluice:sluice-redis, or remove sluice.store.");
    }
    return opener.open(properties.store());
  }

  @Bean
  @ConditionalOnMissingBean
  Limiter sluiceLimiter(
      SluiceProperties properties,
      CurrentLimits limits,
      BucketStore store,
      Environment environment,
      ObjectProvider<TimeSource> time,
      ObjectProvider<LimiterObserver> observers) {
    Limiter.Builder limiter =
        Limiter.builder(limits, store).missingDefault(properties.missingDefault());
    TimeSource clock = time.getIfUnique();
    if (clock != null) {
      limiter.time(clock);
    }
    List<LimiterObserver> all = observers.orderedStream().toList();
    if (!all.isEmpty()) {
      limiter.observer(LimiterObserver.all(all));
    }
    properties.onFailure().apply(limits.get(), limiter, Binder.get(environment));
    return limiter.build();
  }

  @Bean
  @ConditionalOnMissingBean
  AsyncLimiter sluiceAsyncLimiter(Limiter limiter) {
    return limiter.async();
  }

  /** Follows the limit files, also where no other bean is made at start. */
  @Bean
  @Lazy(false)
  @ConditionalOnMissingBean
  LimitReload sluiceLimitReload(
      SluiceProperties properties,
      ObjectProvider<LimitSource> source,
      ObjectProvider<CurrentLimits> limits,
      ObjectProvider<LimitReload.Meters> meters) {
    LimitSource configured = source.getIfAvailable();
    LimitFiles files = configured == null ? null : configured.files();
    return LimitReload.start(
        files, limits.getIfAvailable(), properties.files().reload(), meters.getIfAvailable());
  }

  /** Opens a store by its address; throws what says what is wrong with it. */
  @FunctionalInterface
  interface StoreOpener {
    BucketStore open(String address);
  }

  /** Only where sluice-redis is on the class path. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(RedisStore.class)
  @ImportRuntimeHints(SpringDataRedis.Hints.class)
  static class Redis {

    private static final Pattern PREFIX_OPTION = Pattern.compile("[?&]prefix=");

    @Bean
    @ConditionalOnMissingBean
    StoreOpener sluiceRedisOpener(
        SluiceProperties properties,
        Environment environment,
        ObjectProvider<StoreObserver> observers) {
      return address -> open(address, properties.redis(), environment, observers);
    }

    private static BucketStore open(
        String address,
        SluiceProperties.Redis redis,
        Environment environment,
        ObjectProvider<StoreObserver> observers) {
      try {
        RedisStoreBuilder builder = builder(address, environment);
        String prefix = prefix(address, redis, environment);
        if (prefix != null) {
          builder.prefix(prefix);
        }
        observers.ifAvailable(builder::observer);
        RedisStore store = builder.open();
        greet(store);
        return store;
      } catch (IllegalArgumentException | IllegalStateException e) {
        throw mistake(e);
      }
    }

    /** Reads the address, and connects to nothing. */
    static RedisStoreBuilder builder(String address, Environment environment) {
      try {
        return address.equals(SluiceProperties.SPRING_DATA_REDIS)
            ? SpringDataRedis.builder(environment)
            : RedisStore.builder(address);
      } catch (IllegalArgumentException | IllegalStateException e) {
        throw mistake(e);
      }
    }

    private static SluiceConfigurationException mistake(RuntimeException failure) {
      return new SluiceConfigurationException(
          List.of("sluice.store: " + failure.getMessage()),
          "Write memory, spring.data.redis, or an address such as redis://host:6379/0.");
    }

    /**
     * Keeps the buckets of applications apart that share a Redis and number their limits alike.
     *
     * @return null where the address decides
     */
    private static @Nullable String prefix(
        String address, SluiceProperties.Redis redis, Environment environment) {
      String name = environment.getProperty("spring.application.name", "");
      if (redis.prefix() != null || PREFIX_OPTION.matcher(address).find()) {
        return redis.prefix();
      }
      if (name.isBlank()) {
        LOG.log(
            Level.WARNING,
            "keys in Redis have no prefix: applications that share this Redis share the buckets of"
                + " limits with the same number; set spring.application.name, or"
                + " sluice.redis.prefix (empty for none)");
        return null;
      }
      return name + ":";
    }

    /** So that the first request does not pay for connecting. */
    private static void greet(RedisStore store) {
      try {
        store.ping();
      } catch (StoreException e) {
        LOG.log(
            Level.WARNING,
            "the store does not answer; until it does, sluice.on-failure decides: {0}",
            e.getMessage());
      }
    }
  }
}
