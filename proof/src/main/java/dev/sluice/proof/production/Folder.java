// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** The files of a server, which go with it. */
record Folder(Path path) implements AutoCloseable {

  static Folder make() throws IOException {
    return new Folder(Files.createTempDirectory("production-"));
  }

  String file(String name) {
    return path.resolve(name).toString();
  }

  /** Writes the limits that the drills use, the first one as said, and returns their file. */
  String limits(long burst, long count, String period) throws IOException {
    Path file = path.resolve("limits.yml");
    Path fresh = path.resolve("limits.yml.new");
    Files.writeString(
        fresh,
        """
        %s: {burst: %s, count: %s, period: %s}
        %s: {burst: %s, count: 1, period: %s}
        """
            .formatted(
                Door.LIMIT, burst, count, period, Ledger.LIMIT, Ledger.BURST, Ledger.PERIOD));
    Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
    return file.toString();
  }

  /** The files whose names begin so. */
  List<Path> named(String prefix) throws IOException {
    try (Stream<Path> all = Files.list(path)) {
      return all.filter(file -> file.getFileName().toString().startsWith(prefix)).toList();
    }
  }

  @Override
  public void close() throws IOException {
    try (Stream<Path> all = Files.walk(path)) {
      for (Path file : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    }
  }
}
