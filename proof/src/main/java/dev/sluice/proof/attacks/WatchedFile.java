// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.stream.Stream;

/** A file that a server watches, in a folder that goes with it. Not thread-safe. */
final class WatchedFile implements AutoCloseable {

  private final Path folder;
  private final Path file;

  private WatchedFile(Path folder) {
    this.folder = folder;
    this.file = folder.resolve("watched.yml");
  }

  static WatchedFile of(String text) throws IOException {
    WatchedFile made = new WatchedFile(Files.createTempDirectory("attacks"));
    made.replace(text);
    return made;
  }

  /** Puts another file into its place, as an editor does. */
  void replace(String text) throws IOException {
    Path fresh = Files.writeString(folder.resolve("fresh"), text);
    var unused = Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
  }

  /** Puts a link into its place that leads to another file with a text. */
  void link(String text) throws IOException {
    Path other = Files.writeString(folder.resolve("other"), text);
    Path link = Files.createSymbolicLink(folder.resolve("link"), other);
    var unused = Files.move(link, file, StandardCopyOption.ATOMIC_MOVE);
  }

  /** Leaves only its beginning, as a writer does that ended too early. */
  void cut(int bytes) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      var unused = channel.truncate(bytes);
    }
  }

  /** Writes on where it was cut. */
  void append(String text) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.APPEND)) {
      ByteBuffer rest = ByteBuffer.wrap(Attack.ascii(text));
      while (rest.hasRemaining()) {
        var unused = channel.write(rest);
      }
    }
  }

  @Override
  public String toString() {
    return file.toString();
  }

  @Override
  public void close() {
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path one : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(one);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
