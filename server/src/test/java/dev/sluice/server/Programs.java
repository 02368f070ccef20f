// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * The programs of others that tests ask. {@code .ci/run} installs them, and fails where a test was
 * skipped; elsewhere the tests that need one are skipped without it. Stateless.
 */
public final class Programs {

  private Programs() {}

  /**
   * Returns whether redis-cli and redis-benchmark are installed.
   *
   * @return true if both are
   */
  public static boolean haveRedisTools() {
    return areInstalled("redis-cli", "redis-benchmark");
  }

  /**
   * Returns whether the proxies are installed.
   *
   * @return true if all of them are
   */
  public static boolean haveProxies() {
    return areInstalled("nginx", "caddy", "haproxy");
  }

  /**
   * Returns whether the proxies and the applications behind them are installed: Express and Flask.
   *
   * @return true if all of them are
   */
  public static boolean haveProxiedApplications() {
    return haveProxies()
        && areInstalled("node")
        && Files.isDirectory(Path.of("src/test/node/node_modules/express"))
        && Files.isDirectory(Path.of("/usr/lib/python3/dist-packages/flask"));
  }

  /**
   * Returns whether Node and the clients that run on it are installed.
   *
   * @return true if they are
   */
  public static boolean haveNodeClients() {
    return areInstalled("node") && Files.isDirectory(Path.of("src/test/node/node_modules/@grpc"));
  }

  private static boolean areInstalled(String... names) {
    String path = Objects.requireNonNullElse(System.getenv("PATH"), "");
    return Stream.of(names)
        .allMatch(
            name ->
                Stream.of(path.split(File.pathSeparator, -1))
                    .anyMatch(folder -> Files.isExecutable(Path.of(folder, name))));
  }
}
