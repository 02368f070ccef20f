// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** The files of a server, which are deleted with it. */
public record Folder(Path path) implements AutoCloseable {

  public static Folder make() throws IOException {
    return new Folder(Files.createTempDirectory("sluice-proof-"));
  }

  public String file(String name) {
    return path.resolve(name).toString();
  }

  /** Puts another file into the place of one, as an editor does, and returns its path. */
  @CanIgnoreReturnValue
  public String write(String name, String text) throws IOException {
    Path fresh = Files.writeString(path.resolve(name + ".new"), text);
    return Files.move(fresh, path.resolve(name), StandardCopyOption.ATOMIC_MOVE).toString();
  }

  /** Puts a link to another file with a text into the place of a file. */
  public void link(String name, String text) throws IOException {
    Path other = Files.writeString(path.resolve(name + ".other"), text);
    Path link = Files.createSymbolicLink(path.resolve(name + ".link"), other);
    Path unused = Files.move(link, path.resolve(name), StandardCopyOption.ATOMIC_MOVE);
  }

  /** Leaves only the beginning of a file, as a writer does that ended too early. */
  public void cut(String name, int bytes) throws IOException {
    try (FileChannel channel = FileChannel.open(path.resolve(name), StandardOpenOption.WRITE)) {
      var unused = channel.truncate(bytes);
    }
  }

  /** Writes on where a file was cut. */
  public void append(String name, String text) throws IOException {
    try (FileChannel channel = FileChannel.open(path.resolve(name), StandardOpenOption.APPEND)) {
      ByteBuffer rest = ByteBuffer.wrap(Connection.ascii(text));
      while (rest.hasRemaining()) {
        var unused = channel.write(rest);
      }
    }
  }

  /**
   * Writes the limits that the clients of {@link Door} ask for, and returns their file: the one
   * that they spend from as given, and that of {@link Client#acts}.
   */
  @CanIgnoreReturnValue
  public String limits(long burst, long count, String period) throws IOException {
    return write(
        "limits.yml",
        """
        %s: {burst: %s, count: %s, period: %s}
        %s: {burst: %s, count: 1, period: %s}
        """
            .formatted(
                Door.LIMIT,
                burst,
                count,
                period,
                Client.Act.LIMIT,
                Client.Act.BURST,
                Client.Act.PERIOD));
  }

  /** The options of a server that has the files of a {@link TlsIdentity}. */
  public List<String> tls() {
    return List.of("--tls-certificate", file("tls.crt"), "--tls-key", file("tls.key"));
  }

  /** The files whose names begin so. */
  public List<Path> named(String prefix) throws IOException {
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
