// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;

/** The files of this repository, without what builds put between them. */
final class RepositoryFiles {

  private static final Path ROOT = Path.of("..");
  private static final Set<String> BUILT = Set.of("target", "node_modules");
  private static final Set<String> HIDDEN_BUT_OURS = Set.of(".ci", ".github", ".mvn");

  private RepositoryFiles() {}

  /** All of them, sorted. */
  static List<Path> all() {
    List<Path> files = new ArrayList<>();
    try {
      Files.walkFileTree(
          ROOT,
          new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path dir, BasicFileAttributes attributes) {
              return isOurs(dir) ? FileVisitResult.CONTINUE : FileVisitResult.SKIP_SUBTREE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
              files.add(file);
              return FileVisitResult.CONTINUE;
            }
          });
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Collections.sort(files);
    return files;
  }

  private static boolean isOurs(Path folder) {
    String name = folder.getFileName().toString();
    return folder.equals(ROOT)
        || (name.startsWith(".") ? HIDDEN_BUT_OURS.contains(name) : !BUILT.contains(name));
  }

  /** The path of a file from the root, with slashes. */
  static String name(Path file) {
    return ROOT.relativize(file).toString().replace('\\', '/');
  }

  static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
