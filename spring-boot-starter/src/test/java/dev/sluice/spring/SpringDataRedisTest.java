// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.redis.RedisStore;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.servers.LocalCluster;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.LocalSentinel;
import dev.sluice.testkit.servers.RedisBinary;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.RedisSocketConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** Stores from Spring Boot's own Redis properties, on real servers. */
@Tag("slow")
class SpringDataRedisTest {

  private static final Path BINARY = RedisBinary.bundled();

  private final ApplicationContextRunner application =
      new ApplicationContextRunner()
          .withConfiguration(SluiceAutoConfigurationTest.ALL)
          .withPropertyValues(
              "sluice.store=spring.data.redis",
              "spring.data.redis.timeout=60s", // a slow machine is waited for
              "spring.data.redis.connect-timeout=60s",
              "sluice.limits.ApiCallsPerKey.burst=2",
              "sluice.limits.ApiCallsPerKey.count=2",
              "sluice.limits.ApiCallsPerKey.period=1h");

  private void decidesInRedis(String... properties) {
    application
        .withPropertyValues(properties)
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              assertThat(context.getBean(BucketStore.class)).isInstanceOf(RedisStore.class);
              Limiter limiter = context.getBean(Limiter.class);
              assertThat(limiter.spend("ApiCallsPerKey", "a").remaining()).isEqualTo(1);
            });
  }

  @Test
  void hostPortDatabaseAndCredentials_areThoseOfSpring() {
    try (LocalRedis redis = LocalRedis.start(BINARY, "--requirepass", "s3cr&t")) {
      decidesInRedis(
          "spring.data.redis.host=127.0.0.1",
          "spring.data.redis.port=" + redis.port(),
          "spring.data.redis.database=3",
          "spring.data.redis.password=s3cr&t",
          "spring.data.redis.client-name=orders");
      decidesInRedis("spring.data.redis.url=redis://:s3cr%26t@127.0.0.1:" + redis.port() + "/4");
    }
  }

  @Test
  void sentinel_isThatOfSpring() {
    try (LocalSentinel sentinel = LocalSentinel.start(BINARY)) {
      decidesInRedis(
          "spring.data.redis.sentinel.master=mymaster",
          "spring.data.redis.sentinel.nodes=" + sentinel.sentinel().address());
    }
  }

  @Test
  void cluster_isThatOfSpring() {
    try (LocalCluster cluster = LocalCluster.start(BINARY, false)) {
      decidesInRedis(
          "spring.data.redis.cluster.nodes="
              + cluster.servers().stream()
                  .map(LocalRedis::address)
                  .collect(Collectors.joining(",")));
    }
  }

  private void decidesAsTheFactory(
      RedisConfiguration servers, LettuceClientConfiguration client, String... properties) {
    application
        .withBean(
            LettuceConnectionFactory.class, () -> new LettuceConnectionFactory(servers, client))
        .withPropertyValues("spring.data.redis.host=nowhere.invalid")
        .withPropertyValues(properties)
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              Limiter limiter = context.getBean(Limiter.class);
              assertThat(limiter.spend("ApiCallsPerKey", "a").remaining()).isEqualTo(1);
            });
  }

  private static final LettuceClientConfiguration PLAIN =
      LettuceClientConfiguration.builder().commandTimeout(Duration.ofSeconds(59)).build();

  @Test
  void connectionFactory_givesTheStoreItsServerAndItsLogin() {
    try (LocalRedis redis = LocalRedis.start(BINARY, "--requirepass", "s3cr&t")) {
      RedisStandaloneConfiguration server =
          new RedisStandaloneConfiguration("127.0.0.1", redis.port());
      server.setPassword("s3cr&t");
      decidesAsTheFactory(server, PLAIN);
    }
    try (LocalRedis redis = LocalRedis.start(BINARY)) {
      RedisStandaloneConfiguration server =
          new RedisStandaloneConfiguration("127.0.0.1", redis.port());
      server.setDatabase(3);
      decidesAsTheFactory(server, PLAIN);
      assertThat(String.valueOf(redis.command("INFO", "keyspace"))).contains("db3:keys=1");
    }
  }

  @Test
  void connectionFactoryForSentinelAndCluster_givesTheStoreItsServers() {
    try (LocalSentinel sentinel = LocalSentinel.start(BINARY)) {
      String[] address = sentinel.sentinel().address().split(":", -1);
      decidesAsTheFactory(
          new RedisSentinelConfiguration()
              .master("mymaster")
              .sentinel(address[0], Integer.parseInt(address[1])),
          PLAIN);
    }
    try (LocalCluster cluster = LocalCluster.start(BINARY, false)) {
      decidesAsTheFactory(
          new RedisClusterConfiguration(
              cluster.servers().stream().map(LocalRedis::address).toList()),
          PLAIN);
    }
  }

  @Test
  void connectionFactoryForASocket_isRefused() {
    application
        .withBean(
            LettuceConnectionFactory.class,
            () -> new LettuceConnectionFactory(new RedisSocketConfiguration("/tmp/redis.sock")))
        .run(
            context ->
                assertThat(Analyses.of(context.getStartupFailure()).getDescription())
                    .contains("found a LettuceConnectionFactory for a Unix domain socket"));
  }

  @Test
  void redisThatIsAway_doesNotKeepTheApplicationFromStarting() {
    application
        .withPropertyValues(
            "spring.data.redis.port=1",
            "spring.data.redis.timeout=100ms",
            "sluice.on-failure.default=allow")
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              assertThat(context.getBean(Limiter.class).spend("ApiCallsPerKey", "a").degraded())
                  .isTrue();
            });
  }

  /** Two applications, whose limits have one number, as those of all documentation have. */
  @Test
  void applications_thatShareARedis_shareNoBuckets() {
    try (LocalRedis redis = LocalRedis.start(BINARY)) {
      String own = "sluice.store=" + redis.uri() + "?timeout=60s&connectTimeout=60s";
      String springs = "spring.data.redis.url=" + redis.uri();
      String shop = "spring.application.name=shop";
      assertThat(remaining(springs, shop)).isEqualTo(1);
      assertThat(remaining(own, shop)).as("another instance").isZero();
      assertThat(remaining(own, "spring.application.name=bank")).isEqualTo(1);
      assertThat(remaining(own, shop, "sluice.redis.prefix=bank:")).isZero();
      assertThat(remaining(own, shop, "sluice.redis.prefix=")).as("no prefix").isEqualTo(1);
      assertThat(remaining(own)).as("without a name").isZero();
      assertThat(remaining(own + "&prefix=uri:", shop)).isEqualTo(1);
      assertThat(remaining(own + "&prefix=uri:", "spring.application.name=bank")).isZero();
    }
  }

  private long remaining(String... properties) {
    AtomicLong remaining = new AtomicLong();
    application
        .withPropertyValues(properties)
        .run(
            context ->
                remaining.set(
                    context.getBean(Limiter.class).spend("ApiCallsPerKey", "a").remaining()));
    return remaining.get();
  }

  @Test
  void applicationWithoutAName_isWarnedOfItsKeys() {
    try (LocalRedis redis = LocalRedis.start(BINARY)) {
      String url = "spring.data.redis.url=" + redis.uri();
      assertThat(warnings(url))
          .singleElement()
          .asString()
          .contains("spring.application.name", "sluice.redis.prefix");
      assertThat(warnings(url, "spring.application.name=shop")).isEmpty();
      assertThat(warnings(url, "sluice.redis.prefix=")).isEmpty();
      assertThat(warnings("sluice.store=" + redis.uri() + "?prefix=")).isEmpty();
    }
    assertThat(warnings("sluice.store=memory")).isEmpty();
  }

  private List<String> warnings(String... properties) {
    List<String> warned = new CopyOnWriteArrayList<>();
    Logger log = Logger.getLogger(SluiceAutoConfiguration.class.getName());
    log.setFilter(line -> !warned.add(line.getMessage()));
    log.setLevel(Level.WARNING); // an application of an earlier test may have set that of all
    try {
      application.withPropertyValues(properties).run(context -> assertThat(context).hasNotFailed());
    } finally {
      log.setFilter(null);
      log.setLevel(null);
    }
    return warned;
  }

  /** What is wrong is told by its property, and without the password that it holds. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "redis://:s3cret word@127.0.0.1:6379",
        "redis://:s3cret@my_redis:6379",
        "redis://:s3cret@",
        "redis:s3cret"
      })
  void urlThatIsNone_isAnalysed_withoutItsPassword(String url) {
    application
        .withPropertyValues("spring.data.redis.url=" + url)
        .run(
            context ->
                assertThat(Analyses.of(context.getStartupFailure()).getDescription())
                    .contains("spring.data.redis.url: ")
                    .doesNotContain("s3cret"));
  }

  @Test
  void serversWithoutAKnownMaster_areRefused_insteadOfLocalhost() {
    application
        .withPropertyValues("spring.data.redis.masterreplica.nodes=10.0.0.1:6379,10.0.0.2:6379")
        .run(
            context ->
                assertThat(Analyses.of(context.getStartupFailure()).getDescription())
                    .contains("spring.data.redis.masterreplica: found a list of servers"));
  }

  @Test
  void bundleThatDoesNotExist_isAnalysed() {
    application
        .withPropertyValues("spring.data.redis.ssl.bundle=mine")
        .run(
            context ->
                assertThat(Analyses.of(context.getStartupFailure()).getDescription())
                    .contains("there is no PEM bundle with the name \"mine\""));
  }
}
