package dev.sluice.testkit;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import redis.embedded.core.ExecutableProvider;

/**
 * Where the program of a {@link LocalRedis} comes from. Stateless.
 *
 * <p>Needs {@code com.github.codemonstur:embedded-redis} on the class path of whoever uses it.
 */
public final class RedisBinary {

  private RedisBinary() {}

  /**
   * Redis 6.2, the oldest that Sluice works with, out of a jar: needs nothing installed.
   *
   * @return the path of the program
   */
  public static Path bundled() {
    return Bundled.PATH;
  }

  /**
   * The newest server that is installed, of Valkey and Redis; the bundled one where none is.
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

  /** Unpacked once for all servers of a process, and removed with it. */
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
        // It lies in the folder for temporary files.
      }
    }
  }
}
