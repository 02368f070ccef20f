// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.servers;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import redis.embedded.core.ExecutableProvider;

/**
 * Finds the server program for a {@link LocalRedis}.
 *
 * <p>Requires {@code com.github.codemonstur:embedded-redis} on the class path of the tests.
 */
public final class RedisBinary {

  private static final Map<Path, Integer> MAJOR_VERSIONS = new ConcurrentHashMap<>();

  private RedisBinary() {}

  /**
   * Returns Redis 6.2, the oldest supported version, from a jar. To run all tests with another
   * server program, set the environment variable {@code SLUICE_TEST_REDIS=/path/to/valkey-server}.
   *
   * @return the path of the program
   */
  public static Path bundled() {
    String named = System.getenv("SLUICE_TEST_REDIS");
    return named == null || named.isEmpty() ? Bundled.PATH : Path.of(named);
  }

  /**
   * Returns the installed Valkey, otherwise the installed Redis, otherwise the bundled Redis.
   *
   * @return the path of the program
   */
  public static Path newest() {
    String path = Objects.requireNonNullElse(System.getenv("PATH"), "");
    for (String name : List.of("valkey-server", "redis-server")) {
      for (String folder : path.split(File.pathSeparator, -1)) {
        Path program = Path.of(folder, name);
        if (Files.isExecutable(program)) {
          return program;
        }
      }
    }
    return bundled();
  }

  /**
   * Returns whether the program knows the setting {@code enable-debug-command} of Redis 7. Versions
   * of Redis before 7 refuse to start with {@code enable-debug-command}.
   */
  static boolean hasEnableDebugCommand(Path program) {
    return MAJOR_VERSIONS.computeIfAbsent(program, RedisBinary::majorVersion) >= 7;
  }

  /**
   * Returns the major version from the program's output, "Redis server v=6.2.11 sha=…" or "Valkey
   * server v=8.0.1 sha=…".
   */
  private static int majorVersion(Path program) {
    try {
      Process process = new ProcessBuilder(program.toString(), "--version").start();
      String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      Matcher version = Pattern.compile(" v=(\\d+)\\.").matcher(said);
      if (!version.find()) {
        throw new IllegalStateException(program + " --version: found no version in " + said);
      }
      return Integer.parseInt(version.group(1));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Contains the bundled program. The program is unpacked once per process, and deleted when the
   * process ends.
   */
  private static final class Bundled {
    private static final Path PATH = unpack();

    private static Path unpack() {
      try {
        File unpacked = ExecutableProvider.newJarResourceProvider().get();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> remove(unpacked.toPath())));
        return unpacked.toPath();
      } catch (IOException e) {
        throw new UncheckedIOException(
            "no bundled Redis for %s on %s"
                .formatted(System.getProperty("os.name"), System.getProperty("os.arch")),
            e);
      }
    }

    private static void remove(Path program) {
      Path folder = program.getParent();
      if (folder == null) {
        return;
      }
      try (Stream<Path> files = Stream.of(program, folder)) {
        for (Path file : files.toList()) {
          Files.deleteIfExists(file);
        }
      } catch (IOException e) {
        // A file that cannot be deleted stays in the folder for temporary files.
      }
    }
  }
}
