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
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
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

  /** The module that each store needs. */
  private static final Map<String, String> MODULES =
      new TreeMap<>(
          Map.of(
              "redis://localhost", "sluice-redis",
              "spring.data.redis", "sluice-redis",
              "postgresql://localhost/shop", "sluice-postgres",
              "mariadb://localhost/shop", "sluice-mariadb",
              "spring.datasource", "sluice-postgres"));

  private static final String NEXT = "the next store: ";

  /** Starts with each of the stores; the exit code is the number of starts that failed. */
  @SpringBootConfiguration(proxyBeanMethods = false)
  @EnableAutoConfiguration
  static class Application {
    public static void main(String... stores) {
      int failed = 0;
      for (String store : stores) {
        System.out.println(NEXT + store);
        try {
          SpringApplication.run(Application.class, properties(store)).close();
        } catch (RuntimeException e) { // Spring has printed its report
          failed++;
        }
      }
      System.exit(failed);
    }

    private static String[] properties(String store) {
      return new String[] {
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
        "--sluice.filter.rules[1].id=ip"
      };
    }
  }

  @Test
  void mistakesOfTheLimits_theStoreAndTheRules_areInOneReport() throws Exception {
    List<String> stores = List.copyOf(MODULES.keySet());
    Process application = start(stores);
    String output = new String(application.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(application.waitFor()).as(output).isEqualTo(stores.size());
    String[] reports = output.split(NEXT, -1);
    assertThat(reports).hasSize(1 + stores.size());
    for (int i = 0; i < stores.size(); i++) {
      String store = stores.get(i);
      assertThat(reports[i + 1])
          .startsWith(store)
          .contains("The rate limits are not usable:")
          .contains("did you mean \"burst\"?")
          .contains(
              "sluice.store: a store other than memory needs %s on the"
                  .formatted(MODULES.get(store)))
          .contains("sluice.filter.rules[0].path: found \"login\"")
          .contains("sluice.filter.rules[1].limit: no limit has the name \"LoginsPerIPAdress\"")
          .doesNotContain("NoClassDefFoundError");
    }
  }

  private static Process start(List<String> stores) throws IOException {
    Set<Path> absent =
        ABSENT.stream().map(WithoutStoreModulesTest::origin).collect(Collectors.toSet());
    String classPath =
        Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
            .filter(entry -> !absent.contains(Path.of(entry).toAbsolutePath()))
            .collect(Collectors.joining(File.pathSeparator));
    Path java = Path.of(System.getProperty("java.home"), "bin", "java");
    List<String> command =
        new ArrayList<>(
            List.of(java.toString(), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    command.addAll(List.of("-cp", classPath, Application.class.getName()));
    command.addAll(stores);
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
