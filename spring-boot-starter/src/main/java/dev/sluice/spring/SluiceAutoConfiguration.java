// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.AsyncLimiter;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.mariadb.MariaDbStore;
import dev.sluice.mariadb.MariaDbStoreBuilder;
import dev.sluice.postgres.Durability;
import dev.sluice.postgres.PostgresStore;
import dev.sluice.postgres.PostgresStoreBuilder;
import dev.sluice.redis.RedisStore;
import dev.sluice.redis.RedisStoreBuilder;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.store.TimeSource;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.SearchStrategy;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.env.Environment;
import org.springframework.core.io.ResourceLoader;
import org.springframework.util.ClassUtils;

/** Configures the limits, the store and the limiter. */
@AutoConfiguration
@ConditionalOnProperty(prefix = SluiceProperties.PREFIX, name = "enabled", matchIfMissing = true)
@EnableConfigurationProperties(SluiceProperties.class)
class SluiceAutoConfiguration {

  private static final Logger LOG = System.getLogger(SluiceAutoConfiguration.class.getName());
  private static final String REDIS = "redis";
  static final String POSTGRES = "postgres";
  static final String MARIADB = "mariadb";
  private static final Map<String, String> STORES =
      Map.of(
          REDIS,
          "dev.sluice.redis.RedisStore",
          POSTGRES,
          "dev.sluice.postgres.PostgresStore",
          MARIADB,
          "dev.sluice.mariadb.MariaDbStore");
  private static final Pattern PREFIX_OPTION = Pattern.compile("[?&]prefix=");

  /** This method is static, since Spring Boot needs the bean before it binds the properties. */
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

  /**
   * Returns the limits. If the application has a bean of limits, it is used unchanged and not
   * reloaded.
   */
  @Bean
  @ConditionalOnMissingBean({CurrentLimits.class, Limiter.class})
  CurrentLimits sluiceLimits(ObjectProvider<LimitSource> source, ObjectProvider<Limits> limits) {
    LimitSource configured = source.getIfAvailable();
    return new CurrentLimits(configured == null ? limits.getObject() : configured.load());
  }

  /**
   * This method is before the store's method, so it finds only a store of the application, or of
   * the testkit.
   */
  @Bean
  @Lazy(false)
  @ConditionalOnBean(value = BucketStore.class, search = SearchStrategy.CURRENT)
  @ConditionalOnMissingBean(name = "sluiceForgetfulStore")
  OwnStore sluiceOwnStore(SluiceProperties properties) {
    return new OwnStore(properties);
  }

  @Bean
  @ConditionalOnMissingBean({BucketStore.class, Limiter.class})
  BucketStore sluiceStore(
      SluiceProperties properties,
      ObjectProvider<StoreOpener> openers,
      ObjectProvider<DataSource> sources,
      ObjectProvider<TimeSource> time,
      ObjectProvider<BucketStore.Observer> observers,
      Environment environment) {
    if (properties.store().equals(SluiceProperties.MEMORY)) {
      TimeSource clock = time.getIfUnique();
      return clock == null ? BucketStore.inMemory() : BucketStore.inMemory(clock);
    }
    String address = properties.store();
    String kind = kind(address, sources);
    return openers.stream()
        .filter(opener -> isAddress(address) && opener.kind().equals(kind))
        .findAny()
        .orElseThrow(() -> missing(address, "sluice-" + kind))
        .open(address, environment, observers);
  }

  /** Returns whether a text can be the address of a store, or names a store of Spring Boot. */
  static boolean isAddress(String text) {
    return text.indexOf(':') >= 0 || text.startsWith("spring.");
  }

  /**
   * Returns the exception for a text that is not an address, or an address whose module is missing.
   */
  static SluiceConfigurationException missing(String address, String module) {
    boolean isAddress = isAddress(address);
    return new SluiceConfigurationException(
        List.of(
            isAddress
                ? "sluice.store: a store other than memory needs %s on the class path"
                    .formatted(module)
                : "sluice.store: found %s, expected memory, spring.data.redis, spring.datasource, or an address such as redis://host:6379/0"
                    .formatted(SafeText.quote(address))),
        isAddress
            ? "Add the dependency dev.sluice:%s, or remove sluice.store.".formatted(module)
            : "Correct sluice.store, or remove it to keep the buckets in memory.");
  }

  @Bean
  @ConditionalOnMissingBean(Limiter.class)
  AnnouncedProcess sluiceProcess(SluiceProperties properties, BucketStore store) {
    return AnnouncedProcess.start(properties.onFailure(), store);
  }

  @Bean
  @ConditionalOnMissingBean
  Limiter sluiceLimiter(
      SluiceProperties properties,
      CurrentLimits limits,
      BucketStore store,
      AnnouncedProcess process,
      Environment environment,
      ObjectProvider<TimeSource> time,
      ObjectProvider<LimiterObserver> observers) {
    Limiter.Builder limiter =
        Limiter.builder(limits, store)
            .processes(process::number)
            .missingDefault(properties.missingDefault());
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

  /**
   * Watches the limit files. The bean is not lazy, so that the watch starts even if the application
   * uses no other bean. The limits of the application's own bean are not counted as loaded.
   */
  @Bean
  @Lazy(false)
  @ConditionalOnMissingBean
  LimitReload sluiceLimitReload(
      SluiceProperties properties,
      ObjectProvider<LimitSource> source,
      ObjectProvider<CurrentLimits> limits,
      ObjectProvider<LimitReload.Meters> meters) {
    LimitSource configured = source.getIfAvailable();
    return LimitReload.start(
        configured == null ? null : configured.files(),
        configured == null ? null : configured.overridesFile(),
        configured == null ? null : limits.getIfAvailable(),
        properties.files().reload(),
        meters.getIfAvailable());
  }

  /** Returns the kind of a store, which is the last part of its module's name. */
  static String kind(String address, ObjectProvider<DataSource> sources) {
    return address.equals(SluiceProperties.SPRING_DATASOURCE)
        ? kindOfDataSource(sources)
        : kind(address);
  }

  /** Returns the kind of a store that is not in Spring Boot's own database. */
  static String kind(String address) {
    if (address.startsWith("mariadb:") || address.startsWith("jdbc:mariadb:")) {
      return MARIADB;
    }
    return address.startsWith("postgresql:")
            || address.startsWith("postgres:")
            || address.startsWith("jdbc:")
        ? POSTGRES
        : REDIS;
  }

  /**
   * Returns whether the application's only DataSource is PostgreSQL or MariaDB. Asks the database
   * only if both sluice-postgres and sluice-mariadb are on the class path; in all other cases, and
   * without a unique DataSource, the modules on the class path determine the result.
   */
  private static String kindOfDataSource(ObjectProvider<DataSource> sources) {
    DataSource source = sources.getIfUnique();
    if (source == null || !hasStore(MARIADB) || !hasStore(POSTGRES)) {
      return kindOfModules();
    }
    try (Connection connection = source.getConnection()) {
      String product = connection.getMetaData().getDatabaseProductName();
      return product.equals("PostgreSQL") ? POSTGRES : MARIADB;
    } catch (SQLException e) {
      throw new SluiceConfigurationException(
          List.of(
              "sluice.store: whether the DataSource is PostgreSQL or MariaDB is unknown: "
                  + e.getMessage()),
          "Start the database, or keep only one of sluice-postgres and sluice-mariadb on the class"
              + " path.");
    }
  }

  /** Returns the kind of a database store whose module is on the class path. */
  static String kindOfModules() {
    return hasStore(MARIADB) && !hasStore(POSTGRES) ? MARIADB : POSTGRES;
  }

  /** Whether the module for a kind of store, such as MariaDB, is on the class path. */
  static boolean hasStore(String kind) {
    return ClassUtils.isPresent(STORES.get(kind), SluiceAutoConfiguration.class.getClassLoader());
  }

  /** Applies a setting of a store; reports a wrong value with the property's name. */
  private static <T> void set(
      String property, @Nullable T value, Consumer<T> setter, List<String> problems) {
    if (value != null) {
      try {
        setter.accept(value);
      } catch (IllegalArgumentException e) {
        String reason = String.valueOf(e.getMessage());
        problems.add(property + ": " + reason.replaceFirst("^store \\S+: option \\w+: ", ""));
      }
    }
  }

  private static void requireNone(List<String> problems) {
    if (!problems.isEmpty()) {
      throw new SluiceConfigurationException(
          problems, "Correct the settings of the store, or remove them.");
    }
  }

  private static DataSource dataSource(ObjectProvider<DataSource> sources) {
    DataSource source = sources.getIfUnique();
    if (source == null) {
      throw new IllegalArgumentException(
          "spring.datasource needs one DataSource bean, or a primary one");
    }
    return source;
  }

  /** A step that can find a mistake in a store's address, or a failure of its database. */
  interface Step<T> {
    T get() throws SQLException;
  }

  /** Returns the result of a step; a failure becomes a mistake in the property sluice.store. */
  static <T> T checked(String advice, Step<T> step) {
    try {
      return step.get();
    } catch (IllegalArgumentException
        | IllegalStateException
        | StoreException
        | SQLException failure) {
      throw new SluiceConfigurationException(
          List.of("sluice.store: " + failure.getMessage()), advice);
    }
  }

  /** The methods of a store's builder, since the builders of the modules have no common type. */
  record Unopened(
      Consumer<String> prefix, Consumer<BucketStore.Observer> observer, Step<BucketStore> open) {}

  /**
   * Opens the stores of one module.
   *
   * @param kind the last part of the module's name
   * @param name the database's name in messages
   * @param prefix the configured prefix of the bucket keys; null if there is none
   * @param advice how to correct the store's address
   * @param builder makes the builder for an address
   */
  record StoreOpener(
      String kind,
      String name,
      @Nullable String prefix,
      String advice,
      Function<String, Unopened> builder) {

    /** Connects to the store too, so that the first request does not wait for the connection. */
    BucketStore open(
        String address, Environment environment, ObjectProvider<BucketStore.Observer> observers) {
      return checked(
          advice,
          () -> {
            Unopened unopened = builder.apply(address);
            String separate = prefix(address, environment);
            if (separate != null) {
              unopened.prefix().accept(separate);
            }
            observers.ifAvailable(unopened.observer());
            BucketStore store = unopened.open().get();
            greet(store);
            return store;
          });
    }

    /**
     * Returns the prefix of the bucket keys, which separates applications that share a store; null
     * if the address sets the prefix.
     */
    private @Nullable String prefix(String address, Environment environment) {
      String application = environment.getProperty("spring.application.name", "");
      if (prefix != null || PREFIX_OPTION.matcher(address).find()) {
        return prefix;
      }
      if (application.isBlank()) {
        LOG.log(
            Level.WARNING,
            "keys in %1$s have no prefix: applications that share this %1$s also share the buckets of limits with the same number; set spring.application.name, or sluice.%2$s.prefix (empty for none)"
                .formatted(name, kind));
        return null;
      }
      return application + ":";
    }

    private static void greet(BucketStore store) {
      try {
        store.ping();
      } catch (StoreException e) {
        LOG.log(
            Level.WARNING,
            "the store does not reply; until it replies, sluice.on-failure decides: {0}",
            e.getMessage());
      }
    }
  }

  /** A store of the application, which replaces Sluice's and does not read the properties. */
  record OwnStore(SluiceProperties properties) {

    OwnStore {
      Map<String, Boolean> known = new LinkedHashMap<>();
      known.put("sluice.store", !properties.store().equals(SluiceProperties.MEMORY));
      known.put("sluice.redis.prefix", isSet(properties.redis().prefix()));
      known.put("sluice.postgres.prefix", isSet(properties.postgres().prefix()));
      known.put("sluice.postgres.durability", isSet(properties.postgres().durability()));
      known.put("sluice.postgres.connections", properties.postgres().connections() != null);
      known.put("sluice.postgres.create", properties.postgres().create());
      known.put("sluice.mariadb.prefix", isSet(properties.mariadb().prefix()));
      known.put("sluice.mariadb.connections", properties.mariadb().connections() != null);
      known.put("sluice.mariadb.create", properties.mariadb().create());
      List<String> unread = known.keySet().stream().filter(known::get).toList();
      if (!unread.isEmpty()) {
        throw new SluiceConfigurationException(
            unread.stream()
                .map(
                    "%s: found this property and a bean of type BucketStore, which does not read it"
                        ::formatted)
                .toList(),
            "Remove the properties and configure the bean in code, or remove the bean. In a test with a"
                + " bean of its own, set sluice.store=memory, the others to nothing or false.");
      }
    }

    private static boolean isSet(@Nullable String property) {
      return property != null && !property.isEmpty();
    }
  }

  /** Used only if sluice-postgres is on the class path. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass({PostgresStore.class, DataSource.class})
  static class Postgres {

    private static final String ADVICE =
        "Write spring.datasource, or an address such as postgresql://user@host/database; set"
            + " sluice.postgres.create=true to create the table, or run sluice store create.";

    @Bean
    StoreOpener sluicePostgresOpener(
        SluiceProperties properties, ObjectProvider<DataSource> sources) {
      SluiceProperties.Postgres settings = properties.postgres();
      return new StoreOpener(
          POSTGRES,
          "PostgreSQL",
          settings.prefix(),
          ADVICE,
          address -> {
            PostgresStoreBuilder builder =
                address.equals(SluiceProperties.SPRING_DATASOURCE)
                    ? with(settings, PostgresStore.builder(dataSource(sources)))
                    : builder(address, settings);
            return new Unopened(
                builder::prefix,
                builder::observer,
                () -> {
                  if (settings.create()) {
                    builder.create(null);
                  }
                  return builder.open();
                });
          });
    }

    /** Parses the store's address and settings; does not connect to the store. */
    static PostgresStoreBuilder builder(String address, SluiceProperties.Postgres settings) {
      return checked(ADVICE, () -> with(settings, PostgresStore.builder(address)));
    }

    private static PostgresStoreBuilder with(
        SluiceProperties.Postgres settings, PostgresStoreBuilder builder) {
      List<String> problems = new ArrayList<>();
      set(
          "sluice.postgres.durability",
          settings.durability(),
          word -> builder.durability(Durability.of(word)),
          problems);
      set("sluice.postgres.connections", settings.connections(), builder::connections, problems);
      requireNone(problems);
      return builder;
    }
  }

  /** Used only if sluice-mariadb is on the class path. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass({MariaDbStore.class, DataSource.class})
  static class MariaDb {

    private static final String ADVICE =
        "Write spring.datasource, or an address such as mariadb://user@host/database; set"
            + " sluice.mariadb.create=true to create the table, or run sluice store create.";

    @Bean
    StoreOpener sluiceMariaDbOpener(
        SluiceProperties properties, ObjectProvider<DataSource> sources) {
      SluiceProperties.MariaDb settings = properties.mariadb();
      return new StoreOpener(
          MARIADB,
          "MariaDB",
          settings.prefix(),
          ADVICE,
          address -> {
            MariaDbStoreBuilder builder =
                address.equals(SluiceProperties.SPRING_DATASOURCE)
                    ? with(settings, MariaDbStore.builder(dataSource(sources)))
                    : builder(address, settings);
            return new Unopened(
                builder::prefix,
                builder::observer,
                () -> {
                  if (settings.create()) {
                    builder.create(null);
                  }
                  return builder.open();
                });
          });
    }

    /** Parses the store's address and settings; does not connect to the store. */
    static MariaDbStoreBuilder builder(String address, SluiceProperties.MariaDb settings) {
      return checked(ADVICE, () -> with(settings, MariaDbStore.builder(address, null)));
    }

    private static MariaDbStoreBuilder with(
        SluiceProperties.MariaDb settings, MariaDbStoreBuilder builder) {
      List<String> problems = new ArrayList<>();
      set("sluice.mariadb.connections", settings.connections(), builder::connections, problems);
      requireNone(problems);
      return builder;
    }
  }

  /** Used only if sluice-redis is on the class path. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(RedisStore.class)
  @ImportRuntimeHints(SpringDataRedis.Hints.class)
  static class Redis {

    private static final String ADVICE =
        "Write memory, spring.data.redis, or an address such as redis://host:6379/0.";

    @Bean
    StoreOpener sluiceRedisOpener(
        SluiceProperties properties, Environment environment, BeanFactory beans) {
      return new StoreOpener(
          REDIS,
          "Redis",
          properties.redis().prefix(),
          ADVICE,
          address -> {
            RedisStoreBuilder builder =
                builder(address, () -> SpringDataRedis.builder(environment, beans));
            return new Unopened(builder::prefix, builder::observer, builder::open);
          });
    }

    /** Parses the store's address; does not connect to the store. */
    static RedisStoreBuilder builder(String address, Supplier<RedisStoreBuilder> ofSpring) {
      return checked(
          ADVICE,
          () ->
              address.equals(SluiceProperties.SPRING_DATA_REDIS)
                  ? ofSpring.get()
                  : RedisStore.builder(address));
    }
  }
}
