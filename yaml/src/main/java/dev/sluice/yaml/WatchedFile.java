// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/*
 * A poll compares the size, modification time and identity of a file with the values at the last
 * read. If size, time and identity are unchanged, the content is not read again. Links are
 * followed: a mounted ConfigMap changes by pointing a link to another folder, and many editors
 * rename a new file to the old name.
 *
 * The modification time is coarse (a kernel's tick, or a second on some file systems). A file that
 * is written twice in a row can look unchanged after the second write. So if the last modification
 * was very recent when the file was read, the next poll reads the file again.
 */
/** A file that is read again only if it can have changed. Not thread-safe. */
final class WatchedFile {

  private static final Duration COARSEST = Duration.ofSeconds(2);

  private record Stamp(long size, FileTime modified, @Nullable Object identity) {}

  private record Seen(@Nullable Stamp stamp, FileContent content) {}

  private final Path path;
  private final FileAccess access;
  private @Nullable Stamp stamp;
  private @Nullable FileContent content;

  WatchedFile(Path path, FileAccess access) {
    this.path = path;
    this.access = access;
  }

  FileContent look(Instant now) {
    Stamp before = stamp;
    FileContent last = content;
    Seen seen =
        access.call(
            path,
            () -> see(before, last, now),
            reason -> new Seen(null, FileContent.failed(path, reason)));
    stamp = seen.stamp;
    content = seen.content;
    return seen.content;
  }

  /** Makes the next look read the file again, even if the file seems to be unchanged. */
  void forget() {
    stamp = null;
  }

  /**
   * Reads the file without changing a field of this object, since a call that timed out can still
   * return later.
   */
  private Seen see(@Nullable Stamp before, @Nullable FileContent last, Instant now) {
    Stamp found = stamp();
    if (last != null && found != null && found.equals(before)) {
      return new Seen(before, last);
    }
    FileContent read = FileContent.read(path);
    boolean trusted = found != null && found.modified.toInstant().isBefore(now.minus(COARSEST));
    return new Seen(trusted ? found : null, read);
  }

  private @Nullable Stamp stamp() {
    try {
      BasicFileAttributes attributes = Files.readAttributes(path, BasicFileAttributes.class);
      return new Stamp(attributes.size(), attributes.lastModifiedTime(), attributes.fileKey());
    } catch (IOException | SecurityException e) {
      return null;
    }
  }
}
