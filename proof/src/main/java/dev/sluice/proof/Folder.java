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

/** A temporary folder for the files of a server. Closing this object deletes the folder. */
public record Folder(Path path) implements AutoCloseable {

  public static Folder make() throws IOException {
    return new Folder(Files.createTempDirectory("sluice-proof-"));
  }

  public String file(String name) {
    return path.resolve(name).toString();
  }

  /**
   * Replaces a file atomically, as an editor does when it saves a file. Returns the path of the
   * file.
   */
  @CanIgnoreReturnValue
  public String write(String name, String text) throws IOException {
    Path fresh = Files.writeString(path.resolve(name + ".new"), text);
    return Files.move(fresh, path.resolve(name), StandardCopyOption.ATOMIC_MOVE).toString();
  }

  /** Replaces a file with a symbolic link to a new file with the given text. */
  public void link(String name, String text) throws IOException {
    Path other = Files.writeString(path.resolve(name + ".other"), text);
    Path link = Files.createSymbolicLink(path.resolve(name + ".link"), other);
    Path unused = Files.move(link, path.resolve(name), StandardCopyOption.ATOMIC_MOVE);
  }

  /** Truncates a file to its first {@code bytes} bytes, as if its writer was interrupted. */
  public void cut(String name, int bytes) throws IOException {
    try (FileChannel channel = FileChannel.open(path.resolve(name), StandardOpenOption.WRITE)) {
      var unused = channel.truncate(bytes);
    }
  }

  public void append(String name, String text) throws IOException {
    try (FileChannel channel = FileChannel.open(path.resolve(name), StandardOpenOption.APPEND)) {
      ByteBuffer rest = ByteBuffer.wrap(Connection.ascii(text));
      while (rest.hasRemaining()) {
        var unused = channel.write(rest);
      }
    }
  }

  /**
   * Writes a limit file for the clients of {@link Door}, and returns the path of the file. {@link
   * Client#ask} spends from the first limit in the file, which has the given quota. The operations
   * of {@link Client#acts} use the second limit in the file.
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

  /** Returns the TLS options of a server that uses the files of a {@link TlsIdentity}. */
  public List<String> tls() {
    return List.of("--tls-certificate", file("tls.crt"), "--tls-key", file("tls.key"));
  }

  /** Returns the files whose names begin with the given prefix. */
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
