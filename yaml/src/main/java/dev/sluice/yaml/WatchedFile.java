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
 * Whether a file changed is asked of its size, its time of modification and its identity, so that
 * looking costs next to nothing. They are those of the file that a link leads to: a mounted
 * ConfigMap changes by turning a link to another folder, and many editors rename a new file to the
 * old name.
 *
 * The time is coarse (a kernel's tick, a second on some file systems): a file that is written
 * twice in a row may look the same after the second time. So what was read is trusted only when the
 * file was old enough by then; a younger one is read again at the next look.
 */
/** A file that is read again only when it may have changed. Not thread-safe. */
final class WatchedFile {

  private static final Duration COARSEST = Duration.ofSeconds(2);

  private record Stamp(long size, FileTime modified, @Nullable Object identity) {}

  private final Path path;
  private @Nullable Stamp stamp;
  private @Nullable FileContent content;

  WatchedFile(Path path) {
    this.path = path;
  }

  FileContent look(Instant now) {
    Stamp seen = stamp();
    FileContent last = content;
    if (last != null && seen != null && seen.equals(stamp)) {
      return last;
    }
    FileContent read = FileContent.read(path);
    boolean trusted = seen != null && seen.modified.toInstant().isBefore(now.minus(COARSEST));
    stamp = trusted ? seen : null;
    content = read;
    return read;
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
