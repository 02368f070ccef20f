// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.redis.RedisStore;
import dev.sluice.redis.RedisStoreBuilder;
import dev.sluice.redis.RedisStoreBuilder.Verify;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.context.properties.bind.BindableRuntimeHintsRegistrar;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.core.env.Environment;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisNode;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.util.ClassUtils;
import org.springframework.util.ResourceUtils;

/**
 * A store with Spring Boot's own Redis settings. This class binds the properties itself, since
 * Spring Boot 4 moved its classes for these properties.
 */
final class SpringDataRedis {

  private static final String PREFIX = "spring.data.redis";
  private static final String FACTORY =
      "org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory";

  private SpringDataRedis() {}

  record Properties(
      @Nullable String url,
      @DefaultValue("localhost") String host,
      @DefaultValue("6379") int port,
      @DefaultValue("0") int database,
      @Nullable String username,
      @Nullable String password,
      @Nullable Duration timeout,
      @Nullable Duration connectTimeout,
      @Nullable String clientName,
      @DefaultValue Ssl ssl,
      @Nullable Sentinel sentinel,
      @Nullable Cluster cluster,
      @Nullable MasterReplica masterreplica) {}

  record Ssl(@Nullable Boolean enabled, @Nullable String bundle) {
    boolean isOn() {
      return enabled == null ? bundle != null : enabled;
    }
  }

  record Sentinel(
      @Nullable String master,
      @DefaultValue List<String> nodes,
      @Nullable String username,
      @Nullable String password) {}

  record Cluster(@DefaultValue List<String> nodes) {}

  /** Servers whose master is unknown: the property {@code masterreplica}, since Spring Boot 4.0. */
  record MasterReplica(@DefaultValue List<String> nodes) {}

  /** The files of a PEM bundle. */
  record Bundle(@DefaultValue Keys keystore, @DefaultValue Keys truststore) {}

  record Keys(@Nullable String certificate, @Nullable String privateKey) {}

  /** Registers the records for a native image, since Spring binds records by reflection. */
  static final class Hints implements RuntimeHintsRegistrar {
    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader loader) {
      BindableRuntimeHintsRegistrar.forTypes(Properties.class, Bundle.class)
          .registerHints(hints, loader);
    }
  }

  /**
   * Returns a builder with the settings of the application's only connection factory for Lettuce.
   * If there is no factory or more than one, the builder has the settings of Spring Boot's
   * properties.
   */
  static RedisStoreBuilder builder(Environment environment, BeanFactory beans) {
    boolean mayHaveFactory = ClassUtils.isPresent(FACTORY, SpringDataRedis.class.getClassLoader());
    RedisStoreBuilder builder = mayHaveFactory ? OfFactory.builder(environment, beans) : null;
    return builder == null ? builder(environment) : builder;
  }

  static RedisStoreBuilder builder(Environment environment) {
    Binder binder = Binder.get(environment);
    return builder(binder.bindOrCreate(PREFIX, Properties.class), binder);
  }

  private static RedisStoreBuilder builder(Properties properties, Binder binder) {
    URI url = properties.url() == null ? null : url(properties.url());
    boolean tls = properties.ssl().isOn() || (url != null && "rediss".equals(url.getScheme()));
    RedisStoreBuilder builder = RedisStore.builder(address(properties, url, tls));
    credentials(properties, url, builder);
    if (properties.timeout() != null) {
      builder.timeout(properties.timeout());
    }
    if (properties.connectTimeout() != null) {
      builder.connectTimeout(properties.connectTimeout());
    }
    if (properties.clientName() != null) {
      builder.clientName(properties.clientName());
    }
    String bundle = properties.ssl().bundle();
    if (bundle != null) {
      certificates(
          bundle, binder.bindOrCreate("spring.ssl.bundle.pem." + bundle, Bundle.class), builder);
    }
    return builder;
  }

  /** Parses a URL. Messages never contain the URL, since a URL can contain a password. */
  private static URI url(String text) {
    String problem = "the host is missing, or has a character that is not allowed";
    try {
      URI url = new URI(text);
      if (url.getHost() != null) {
        return url;
      }
    } catch (URISyntaxException e) {
      problem = "%s at index %s".formatted(e.getReason(), e.getIndex());
    }
    throw new SluiceConfigurationException(
        List.of(PREFIX + ".url: " + problem),
        "Write redis://host:port with special characters of the password escaped (%20), or set"
            + " spring.data.redis.host, port and password.");
  }

  private static String address(Properties properties, @Nullable URI url, boolean tls) {
    String options = tls ? "?tls=true" : "";
    Sentinel sentinel = properties.sentinel();
    if (sentinel != null && !sentinel.nodes().isEmpty()) {
      return "redis-sentinel://%s/%s%s#%s"
          .formatted(
              String.join(",", sentinel.nodes()),
              properties.database(),
              options,
              Objects.requireNonNullElse(sentinel.master(), ""));
    }
    Cluster cluster = properties.cluster();
    if (cluster != null && !cluster.nodes().isEmpty()) {
      return "redis-cluster://%s%s".formatted(String.join(",", cluster.nodes()), options);
    }
    MasterReplica replicated = properties.masterreplica();
    if (replicated != null && !replicated.nodes().isEmpty()) {
      throw new SluiceConfigurationException(
          List.of(
              PREFIX + ".masterreplica: found a list of servers, which does not name the master"),
          "The buckets are stored in the master: set sluice.store to its address, such as"
              + " redis://host:6379/0, or to an address of Sentinel, which follows a new master.");
    }
    if (url != null) {
      String path = url.getPath();
      return "redis://%s:%s%s%s"
          .formatted(
              url.getHost(),
              url.getPort() < 0 ? 6379 : url.getPort(),
              path == null || path.length() < 2 ? "/" + properties.database() : path,
              options);
    }
    String host = properties.host();
    return "redis://%s:%s/%s%s"
        .formatted(
            host.contains(":") ? "[" + host + "]" : host,
            properties.port(),
            properties.database(),
            options);
  }

  /** Sets the credentials. A URL's user and password take precedence, as in Spring Boot. */
  private static void credentials(
      Properties properties, @Nullable URI url, RedisStoreBuilder builder) {
    String user = properties.username();
    String password = properties.password();
    String info = url == null ? null : url.getUserInfo();
    if (info != null) {
      int colon = info.indexOf(':');
      password = colon < 0 ? info : info.substring(colon + 1);
      user = colon > 0 ? info.substring(0, colon) : null;
    }
    if (password != null) {
      builder.credentials(user == null || user.isEmpty() ? "default" : user, password);
    }
    Sentinel sentinel = properties.sentinel();
    if (sentinel != null && sentinel.password() != null) {
      builder
          .sentinelUser(Objects.requireNonNullElse(sentinel.username(), "default"))
          .sentinelPassword(sentinel.password());
    }
  }

  private static void certificates(String name, Bundle bundle, RedisStoreBuilder builder) {
    Keys trust = bundle.truststore();
    Keys own = bundle.keystore();
    if (Stream.of(trust.certificate(), own.certificate()).allMatch(Objects::isNull)) {
      throw new SluiceConfigurationException(
          List.of(
              PREFIX + ".ssl.bundle: there is no PEM bundle with the name \"%s\"".formatted(name)),
          "Define the bundle below spring.ssl.bundle.pem.%s with files, or set sluice.store to an"
                  .formatted(name)
              + " address such as rediss://host:6379?ca=FILE. A bundle of Java key stores is not"
              + " read.");
    }
    if (trust.certificate() != null) {
      builder.ca(file(trust.certificate()));
    }
    if (own.certificate() != null && own.privateKey() != null) {
      builder.cert(file(own.certificate())).key(file(own.privateKey()));
    }
  }

  private static Path file(String location) {
    try {
      return ResourceUtils.getFile(location).toPath();
    } catch (IOException e) {
      throw new SluiceConfigurationException(
          List.of(
              "spring.ssl.bundle.pem: found %s, expected a file"
                  .formatted(location.lines().limit(1).collect(Collectors.joining()))),
          "Put the certificate into a file, and configure the file's name.");
    }
  }

  /** A separate class, since applications may lack Spring Data Redis. */
  private static final class OfFactory {

    private static final Duration UNSET = Duration.ofSeconds(60); // Lettuce's default

    static @Nullable RedisStoreBuilder builder(Environment environment, BeanFactory beans) {
      LettuceConnectionFactory factory =
          beans.getBeanProvider(LettuceConnectionFactory.class).getIfUnique();
      if (factory == null) {
        return null;
      }
      Binder binder = Binder.get(environment);
      Properties configured = binder.bindOrCreate(PREFIX, Properties.class);
      return SpringDataRedis.builder(properties(factory, configured), binder)
          .verify(Verify.valueOf(factory.getClientConfiguration().getVerifyMode().name()));
    }

    /**
     * Reads a factory. {@code configured} has the certificates and servers, which a factory does
     * not expose.
     */
    private static Properties properties(LettuceConnectionFactory factory, Properties configured) {
      if (factory.getSocketConfiguration() != null) {
        throw new IllegalArgumentException(
            "found a LettuceConnectionFactory for a Unix domain socket, expected one for a host");
      }
      RedisSentinelConfiguration sentinel = factory.getSentinelConfiguration();
      RedisClusterConfiguration cluster = factory.getClusterConfiguration();
      RedisConfiguration.WithAuthentication login =
          sentinel != null
              ? sentinel
              : cluster != null ? cluster : factory.getStandaloneConfiguration();
      LettuceClientConfiguration client = factory.getClientConfiguration();
      Duration timeout = client.getCommandTimeout();
      return new Properties(
          null,
          factory.getHostName(),
          factory.getPort(),
          factory.getDatabase(),
          login.getUsername(),
          factory.getPassword(),
          timeout.equals(UNSET) ? configured.timeout() : timeout,
          configured.connectTimeout(),
          client.getClientName().orElse(null),
          client.isUseSsl() ? new Ssl(true, configured.ssl().bundle()) : new Ssl(false, null),
          sentinel == null
              ? null
              : new Sentinel(
                  sentinel.getMaster() == null ? null : sentinel.getMaster().getName(),
                  addresses(sentinel.getSentinels()),
                  sentinel.getSentinelUsername(),
                  sentinel.getSentinelPassword().toOptional().map(String::new).orElse(null)),
          cluster == null ? null : new Cluster(addresses(cluster.getClusterNodes())),
          configured.masterreplica());
    }

    private static List<String> addresses(Collection<RedisNode> nodes) {
      return nodes.stream().map(RedisNode::asString).toList();
    }
  }
}
