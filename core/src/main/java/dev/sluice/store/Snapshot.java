// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import dev.sluice.store.MemoryStore.SnapshotException;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import java.util.zip.CheckedInputStream;
import java.util.zip.CheckedOutputStream;
import org.jspecify.annotations.Nullable;

/*
 * The file format, big endian:
 *
 *   8 bytes     "SLUICE\0" and the version, 1
 *   2 longs     the key of the hash; with this key, an attacker can forge tags, so only the owner
 *               can read the file
 *   1 long      the number of buckets
 *   per bucket  3 longs: place (see BucketTable and SlotArray), tag and TAT
 *   1 long      the CRC-32C of all bytes before it
 *
 * The file is written under a temporary name, forced to the disk, and then renamed. A reader finds
 * the last complete snapshot, or no file.
 */

/** Writes a table to a file, and reads a table from a file. Thread-safe. */
final class Snapshot {

  private static final byte VERSION = 1;
  private static final long MAGIC = 0x534c554943450000L | VERSION;
  private static final int BYTES_AROUND = 5 * Long.BYTES;
  private static final int BYTES_OF_ONE = 3 * Long.BYTES;
  private static final int BUFFER = 1 << 16;
  private static final String UNFINISHED = ".tmp";
  private static final Duration UNTIL_LOCKED = Duration.ofSeconds(10);

  private Snapshot() {}

  static void write(BucketTable table, Path file) throws IOException {
    Path absolute = file.toAbsolutePath();
    Path directory = absolute.getParent();
    if (directory == null || !Files.isDirectory(directory)) {
      throw withoutDirectory(file, directory);
    }
    try {
      write(table, absolute, directory);
    } catch (NoSuchFileException e) { // another process has moved the directory
      throw withoutDirectory(file, directory);
    }
  }

  private static SnapshotException withoutDirectory(Path file, @Nullable Path directory) {
    return new SnapshotException(
        "%s: the directory %s for the snapshot does not exist; create it"
            .formatted(file, directory));
  }

  private static void write(BucketTable table, Path absolute, Path directory) throws IOException {
    String prefix = absolute.getFileName() + ".";
    Path next = Files.createTempFile(directory, prefix, UNFINISHED, ownerOnly(directory));
    try {
      deleteLeftovers(directory, prefix, next);
      try (FileChannel channel = FileChannel.open(next, StandardOpenOption.WRITE);
          FileLock alive = channel.tryLock()) {
        write(table, Channels.newOutputStream(channel));
        channel.force(true);
      }
      try {
        Files.move(next, absolute, StandardCopyOption.ATOMIC_MOVE);
      } catch (AtomicMoveNotSupportedException e) {
        Files.move(next, absolute, StandardCopyOption.REPLACE_EXISTING);
      }
    } finally {
      Files.deleteIfExists(next);
    }
  }

  /**
   * Deletes temporary files of processes that were killed. A file that a live process is writing is
   * locked, or was changed within the last seconds.
   */
  private static void deleteLeftovers(Path directory, String prefix, Path next) throws IOException {
    Pattern unfinished =
        Pattern.compile(Pattern.quote(prefix) + "\\d+" + Pattern.quote(UNFINISHED));
    // Uses the file system's clock, which can differ from this machine's clock.
    long cutoffMillis = next.toFile().lastModified() - UNTIL_LOCKED.toMillis();
    try (Stream<Path> all = Files.list(directory)) {
      for (Path path : all.toList()) {
        boolean candidate = unfinished.matcher(path.getFileName().toString()).matches();
        if (candidate && path.toFile().lastModified() < cutoffMillis && !isBeingWritten(path)) {
          Files.deleteIfExists(path);
        }
      }
    }
  }

  private static boolean isBeingWritten(Path path) {
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE);
        FileLock mine = channel.tryLock()) {
      return mine == null;
    } catch (IOException | OverlappingFileLockException e) {
      return true; // another user owns the file, or another thread of this process has locked it
    }
  }

  private static FileAttribute<?>[] ownerOnly(Path directory) throws IOException {
    return Files.getFileStore(directory).supportsFileAttributeView("posix")
        ? new FileAttribute<?>[] {
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
        }
        : new FileAttribute<?>[0];
  }

  private static void write(BucketTable table, OutputStream file) throws IOException {
    CheckedOutputStream checked =
        new CheckedOutputStream(new BufferedOutputStream(file, BUFFER), new CRC32C());
    DataOutputStream out = new DataOutputStream(checked);
    List<long[]> live = table.live();
    out.writeLong(MAGIC);
    out.writeLong(table.key0());
    out.writeLong(table.key1());
    out.writeLong(live.stream().mapToLong(part -> part.length / 3).sum());
    for (long[] part : live) {
      for (long value : part) {
        out.writeLong(value);
      }
    }
    out.flush();
    long checksum = checked.getChecksum().getValue();
    out.writeLong(checksum);
    out.flush();
  }

  static BucketTable read(Path file, TimeSource time, long bound, long keptNanos)
      throws IOException {
    try {
      long nowNanos = TimeSource.read(time);
      requireWhole(file, nowNanos, bound);
      return readWhole(file, time, bound, keptNanos, nowNanos);
    } catch (EOFException e) {
      throw unusable(file, "the file ends too early; it was not written completely");
    } catch (IllegalArgumentException e) {
      throw unusable(file, "found " + e.getMessage() + "; the file is damaged or forged");
    } catch (StoreException e) {
      throw new SnapshotException(
          "%s: %s; nothing was restored".formatted(file, String.valueOf(e.getMessage())));
    }
  }

  /** Checks a file before a table is built: a table from a forged file could use all memory. */
  private static void requireWhole(Path file, long nowNanos, long bound) throws IOException {
    try (CheckedInputStream checked = new CheckedInputStream(open(file), new CRC32C())) {
      DataInputStream in = new DataInputStream(checked);
      long magic = in.readLong();
      if (magic != MAGIC) {
        throw unusable(file, "the file does not begin like a snapshot of version " + VERSION);
      }
      in.skipNBytes(2 * Long.BYTES);
      long count = in.readLong();
      long body = Files.size(file) - BYTES_AROUND;
      if (body % BYTES_OF_ONE != 0 || count != body / BYTES_OF_ONE) {
        throw unusable(file, "the file has the wrong length; it was not written completely");
      }
      long live = 0;
      for (long i = 0; i < count; i++) {
        in.skipNBytes(2 * Long.BYTES);
        live += SlotArray.isDead(in.readLong(), nowNanos) ? 0 : 1;
      }
      long computed = checked.getChecksum().getValue();
      long written = in.readLong();
      if (computed != written) {
        throw unusable(file, "the checksum does not match; the file is damaged");
      }
      if (live > bound) {
        throw unusable(
            file,
            "found %s live buckets, more than the store can keep (%s)".formatted(live, bound),
            "Give the store more room (a larger heap: -Xmx)");
      }
    }
  }

  private static BucketTable readWhole(
      Path file, TimeSource time, long bound, long keptNanos, long nowNanos) throws IOException {
    try (DataInputStream in = new DataInputStream(open(file))) {
      in.skipNBytes(Long.BYTES);
      BucketTable table = new BucketTable(time, bound, keptNanos, in.readLong(), in.readLong());
      long count = in.readLong();
      for (long i = 0; i < count; i++) {
        table.restore(in.readLong(), in.readLong(), in.readLong(), nowNanos);
      }
      return table;
    }
  }

  private static InputStream open(Path file) throws IOException {
    if (Files.exists(file) && !Files.isRegularFile(file)) { // reading a pipe could block for ever
      throw unusable(file, "found a folder, a pipe or a device, expected a file");
    }
    return new BufferedInputStream(Files.newInputStream(file), BUFFER);
  }

  private static SnapshotException unusable(Path file, String what) {
    return unusable(file, what, "Replace the file with a complete snapshot");
  }

  private static SnapshotException unusable(Path file, String what, String remedy) {
    return new SnapshotException(
        "%s: %s; nothing was restored. %s, or move the file away to start with full buckets"
            .formatted(file, what, remedy));
  }
}
