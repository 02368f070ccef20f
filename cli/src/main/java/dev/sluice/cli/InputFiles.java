package dev.sluice.cli;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** Files that a command is told to read, refused with a plain word where they can't be. */
final class InputFiles {

  private InputFiles() {}

  static void require(Path file) {
    if (Files.isDirectory(file)) {
      throw new InputException(file + ": found a directory, expected a file");
    }
    if (!Files.exists(file)) {
      throw new InputException(file + ": there is no such file");
    }
    if (!Files.isReadable(file)) {
      throw new InputException(file + ": the file is not readable; check its permissions");
    }
  }

  static InputStream open(Path file) {
    require(file);
    try {
      return Files.newInputStream(file);
    } catch (IOException e) {
      throw new InputException(file + ": can't be opened: " + e.getMessage());
    }
  }
}
