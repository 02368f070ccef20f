// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import dev.sluice.yaml.internal.NodeReader;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/*
 * sluice limits copy 1
 * hash 3f9c1a2b4d5e
 * time 2026-11-27T10:12:13Z
 * defaults 1234
 * (1234 bytes, and a line feed)
 * overrides 567
 * …
 */
/**
 * A file with the contents of all limit files of the last load without mistakes. Only the file's
 * owner can read the file.
 *
 * @param snapshot the contents of the limit files
 * @param at when the limit files were loaded
 */
record LimitsCopy(Snapshot snapshot, Instant at) {

  private static final String FIRST_LINE = "sluice limits copy 1";
  private static final String HASH = "hash ";
  private static final String TIME = "time ";
  private static final long MOST_FILES = 8;

  /** Writes the copy. Returns the reason if the write failed, otherwise an empty text. */
  static String written(Path file, LimitFiles files, Snapshot snapshot, Instant at) {
    try {
      write(file, files, snapshot, at);
      return "";
    } catch (IOException | SecurityException e) {
      return e.toString();
    }
  }

  /** Replaces the copy atomically, so that a reader never sees an incomplete copy. */
  private static void write(Path file, LimitFiles files, Snapshot snapshot, Instant at)
      throws IOException {
    Path absolute = file.toAbsolutePath();
    Path folder = Objects.requireNonNull(absolute.getParent());
    // Only the owner can read a file that createTempFile makes.
    Path fresh = Files.createTempFile(folder, absolute.getFileName() + ".", ".tmp");
    try {
      try (FileChannel out = FileChannel.open(fresh, StandardOpenOption.WRITE)) {
        String head = String.join("\n", FIRST_LINE, HASH + snapshot.hash(), TIME + at, "");
        write(head.getBytes(StandardCharsets.UTF_8), out);
        List<String> roles = roles(files);
        List<FileContent> contents = snapshot.contents();
        for (int i = 0; i < roles.size(); i++) {
          byte[] bytes = contents.get(i).bytes();
          write((roles.get(i) + " " + bytes.length + "\n").getBytes(StandardCharsets.UTF_8), out);
          write(bytes, out);
          write(new byte[] {'\n'}, out);
        }
        out.force(true);
      }
      Files.move(
          fresh, absolute, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } finally {
      Files.deleteIfExists(fresh);
    }
  }

  private static void write(byte[] bytes, FileChannel out) throws IOException {
    ByteBuffer rest = ByteBuffer.wrap(bytes);
    while (rest.hasRemaining()) {
      out.write(rest);
    }
  }

  /** Reads the bytes of a copy. An error of the file system is returned as a fault, not thrown. */
  static FileContent bytes(Path file) {
    try (InputStream in = Files.newInputStream(file)) {
      return FileContent.of(
          file.toString(),
          in.readNBytes((int) Math.min(MOST_FILES * NodeReader.MAX_BYTES, Integer.MAX_VALUE)));
    } catch (IOException | SecurityException e) {
      return FileContent.failed(file, FileContent.explain(e));
    }
  }

  /**
   * Reads a copy.
   *
   * @throws LimitFilesException if the copy is damaged, or was made of files other than the
   *     configured files
   */
  static LimitsCopy read(FileContent copy, LimitFiles files) {
    String fault = copy.fault();
    if (fault != null) {
      throw refused(copy.file(), fault);
    }
    Reader reader = new Reader(copy.file(), copy.bytes());
    if (!reader.line().equals(FIRST_LINE)) {
      throw reader.damaged();
    }
    String hash = reader.line(HASH);
    Instant at = reader.time();
    List<FileContent> contents = new ArrayList<>();
    for (String role : roles(files)) {
      contents.add(reader.content(role));
    }
    Snapshot snapshot = snapshot(files, contents);
    if (!reader.isAtEnd() || !snapshot.hash().equals(hash)) {
      throw reader.damaged();
    }
    return new LimitsCopy(snapshot, at);
  }

  /** Returns each file's role, such as "defaults", in {@link Snapshot#contents}' order. */
  private static List<String> roles(LimitFiles files) {
    List<String> roles = new ArrayList<>();
    addIf(files.names, "names", roles);
    addIf(files.defaults, "defaults", roles);
    addIf(files.overrides, "overrides", roles);
    for (LimitFiles.Companion companion : files.companions) {
      addIf(companion.file(), companion.reader().type().getSimpleName(), roles);
    }
    return roles;
  }

  private static void addIf(@Nullable Path file, String role, List<String> roles) {
    if (file != null) {
      roles.add(role);
    }
  }

  private static Snapshot snapshot(LimitFiles files, List<FileContent> contents) {
    List<FileContent> rest = new ArrayList<>(contents);
    return new Snapshot(
        files.names == null ? null : rest.remove(0),
        files.defaults == null ? null : rest.remove(0),
        files.overrides == null ? null : rest.remove(0),
        List.copyOf(rest),
        List.of());
  }

  private static LimitFilesException refused(String file, String why) {
    return new LimitFilesException(List.of(new Problem(file, 1, 1, Severity.MISTAKE, why)));
  }

  /** Reads the bytes of a copy from the beginning to the end. Not thread-safe. */
  private static final class Reader {
    private final String file;
    private final byte[] bytes;
    private int at;

    Reader(String file, byte[] bytes) {
      this.file = file;
      this.bytes = bytes;
    }

    LimitFilesException damaged() {
      return refused(
          file,
          "the copy of the limits is damaged, or does not belong to the configured files;"
              + " correct the limit files; the next successful load writes a new copy");
    }

    boolean isAtEnd() {
      return at == bytes.length;
    }

    String line() {
      int start = at;
      while (at < bytes.length && bytes[at] != '\n') {
        at++;
      }
      if (isAtEnd()) {
        throw damaged();
      }
      return new String(bytes, start, at++ - start, StandardCharsets.UTF_8).strip();
    }

    String line(String prefix) {
      String line = line();
      if (!line.startsWith(prefix)) {
        throw damaged();
      }
      return line.substring(prefix.length());
    }

    Instant time() {
      try {
        return Instant.parse(line(TIME));
      } catch (DateTimeException e) {
        throw damaged();
      }
    }

    FileContent content(String role) {
      int length;
      try {
        length = Integer.parseInt(line(role + " "));
      } catch (NumberFormatException e) {
        throw damaged();
      }
      if (length < 0 || length >= bytes.length - at) {
        throw damaged();
      }
      byte[] content = new byte[length];
      System.arraycopy(bytes, at, content, 0, length);
      at += length + 1; // skips the line feed after the content
      return FileContent.of("%s (%s)".formatted(file, role), content);
    }
  }
}
