// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.mariadb.MariaDbStore;
import dev.sluice.postgres.PostgresStore;
import dev.sluice.redis.RedisStore;
import io.lettuce.core.RedisClient;
import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * An application in a process of its own, whose class path has no store's module and no Redis
 * client.
 */
@Tag("slow")
class WithoutStoreModulesTest {

  private static final List<Class<?>> ABSENT =
      List.of(
          RedisStore.class,
          PostgresStore.class,
          MariaDbStore.class,
          RedisClient.class,
          LettuceConnectionFactory.class);

  @SpringBootConfiguration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Application {
    public static void main(String... properties) {
      SpringApplication.run(Application.class, properties).close();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "redis://localhost, sluice-redis",
    "spring.data.redis, sluice-redis",
    "postgresql://localhost/shop, sluice-postgres",
    "mariadb://localhost/shop, sluice-mariadb",
    "spring.datasource, sluice-postgres"
  })
  void mistakesOfTheLimits_theStoreAndTheRules_areInOneReport(String store, String module)
      throws Exception {
    Process application =
        start(
            "--server.port=0",
            "--server.address=127.0.0.1",
            "--spring.main.banner-mode=off",
            "--sluice.store=" + store,
            "--sluice.limits.LoginsPerIPAddress.brst=1",
            "--sluice.filter.rules[0].path=login",
            "--sluice.filter.rules[0].limit=LoginsPerIPAddress",
            "--sluice.filter.rules[0].id=ip",
            "--sluice.filter.rules[1].path=/login",
            "--sluice.filter.rules[1].limit=LoginsPerIPAdress",
            "--sluice.filter.rules[1].id=ip");
    String output = new String(application.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(application.waitFor()).isEqualTo(1);
    assertThat(output)
        .contains("The rate limits are not usable:")
        .contains("did you mean \"burst\"?")
        .contains("sluice.store: a store other than memory needs %s on the".formatted(module))
        .contains("sluice.filter.rules[0].path: found \"login\"")
        .contains("sluice.filter.rules[1].limit: no limit has the name \"LoginsPerIPAdress\"")
        .doesNotContain("NoClassDefFoundError");
  }

  private static Process start(String... properties) throws IOException {
    Set<Path> absent =
        ABSENT.stream().map(WithoutStoreModulesTest::origin).collect(Collectors.toSet());
    String classPath =
        Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
            .filter(entry -> !absent.contains(Path.of(entry).toAbsolutePath()))
            .collect(Collectors.joining(File.pathSeparator));
    Path java = Path.of(System.getProperty("java.home"), "bin", "java");
    List<String> command =
        new ArrayList<>(
            List.of(java.toString(), "-Xmx128m", "-cp", classPath, Application.class.getName()));
    command.addAll(List.of(properties));
    return new ProcessBuilder(command).redirectErrorStream(true).start();
  }

  private static Path origin(Class<?> type) {
    try {
      return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }
}
