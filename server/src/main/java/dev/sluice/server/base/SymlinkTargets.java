// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Resolves symbolic links. Blocks on the file system. */
public final class SymlinkTargets {

  /** The longest chain of links that Linux follows. */
  private static final int MOST_LINKS = 40;

  private SymlinkTargets() {}

  /**
   * Follows symbolic links, so that the caller can replace the file behind a link. A rename to the
   * link's own name would replace the link.
   *
   * @param file a file, or a link to a file; the file need not exist
   * @return the target of the link; {@code file} if it is not a link, or if the links form a loop
   */
  public static Path followed(Path file) {
    Path at = file;
    try {
      for (int i = 0; i < MOST_LINKS && Files.isSymbolicLink(at); i++) {
        Path folder = at.toAbsolutePath().getParent();
        Path next = Files.readSymbolicLink(at);
        at = folder == null ? next : folder.toRealPath().resolve(next);
      }
    } catch (IOException e) {
      return file; // opening it reports what is wrong
    }
    return Files.isSymbolicLink(at) ? file : real(at, file);
  }

  /** Returns the real path of a file, which is the same for all links to it. */
  private static Path real(Path at, Path file) {
    Path folder = at.getParent();
    Path name = at.getFileName();
    if (at.equals(file) || folder == null || name == null) {
      return at;
    }
    try {
      return folder.toRealPath().resolve(name);
    } catch (IOException e) {
      return at;
    }
  }
}
