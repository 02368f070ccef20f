// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.limit.Catalogue;
import dev.sluice.testkit.Vectors;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** Limit files of the test resources, and how the name of one says what it is. */
public final class TestFiles {

  private TestFiles() {}

  /** A builder that knows the names of the vectors, and the samples. */
  public static LimitFiles.Builder builder() {
    return LimitFiles.builder().catalogue(Vectors.names()).samples(Catalogue.samples());
  }

  /** A file of defaults alone, under the same names. */
  public static LimitFiles of(Path defaults) {
    return builder().defaults(defaults).build();
  }

  /** The folder of resources beside this class. */
  public static Path folder(String name) {
    URL url = Objects.requireNonNull(TestFiles.class.getResource(name), name);
    try {
      return Path.of(url.toURI());
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  public static List<Path> yaml(String folder) {
    try (Stream<Path> files = Files.list(folder(folder))) {
      return files.filter(f -> f.toString().endsWith(".yml")).sorted().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** A file by itself, as what its name says: defaults, overrides or names. */
  public static LimitFiles alone(Path file) {
    String name = file.getFileName().toString();
    LimitFiles.Builder files = builder();
    if (name.contains("overrides")) {
      return files.overrides(file).build();
    }
    return (name.contains("defaults") ? files.defaults(file) : files.names(file)).build();
  }

  /** The problems as lines, without the file's name. */
  public static List<String> lines(List<Problem> problems) {
    return problems.stream().map(p -> p.toString().substring(p.file().length() + 1)).toList();
  }

  public static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @CanIgnoreReturnValue
  public static Path write(Path file, String text) {
    try {
      return Files.writeString(file, text);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
