package dev.sluice.yaml;

import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The contents of all files at one moment; null for a file that is not part of them. */
record Snapshot(
    @Nullable FileContent names,
    @Nullable FileContent defaults,
    @Nullable FileContent overrides,
    @Nullable FileContent companion) {

  /** The file in which one would write a default, or else the first that there is. */
  String firstFile() {
    return Stream.of(defaults, overrides, names)
        .filter(Objects::nonNull)
        .map(content -> Objects.requireNonNull(content).file())
        .findFirst()
        .orElse("");
  }

  /** Equal as long as no content changes. */
  String fingerprint() {
    return Stream.of(names, defaults, overrides, companion)
        .map(content -> content == null ? "" : content.fingerprint())
        .collect(Collectors.joining("\n"));
  }
}
