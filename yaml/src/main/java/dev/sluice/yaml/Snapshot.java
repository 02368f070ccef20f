// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The contents of all files at about the same time; null for a file that is not configured. */
record Snapshot(
    @Nullable FileContent names,
    @Nullable FileContent defaults,
    @Nullable FileContent overrides,
    List<FileContent> companions,
    List<FileContent> attached) {

  private static final int HASH_LENGTH = 12;

  /** Returns the name of the file of defaults, or else of the first configured file. */
  String firstFile() {
    return Stream.concat(Stream.of(defaults, overrides, names), companions.stream())
        .filter(Objects::nonNull)
        .map(content -> Objects.requireNonNull(content).file())
        .findFirst()
        .orElse("");
  }

  Snapshot withOverrides(@Nullable FileContent others) {
    return new Snapshot(names, defaults, others, companions, attached);
  }

  /** Returns the YAML files, in a fixed order; null for each file that is not configured. */
  List<@Nullable FileContent> texts() {
    List<@Nullable FileContent> texts = new ArrayList<>();
    texts.add(names);
    texts.add(defaults);
    texts.add(overrides);
    texts.addAll(companions);
    return texts;
  }

  /** Returns the configured YAML files, in a fixed order. */
  List<FileContent> contents() {
    return texts().stream().filter(Objects::nonNull).map(Objects::requireNonNull).toList();
  }

  /** Returns a text that changes whenever the content of a file changes. */
  String fingerprint() {
    return Stream.of(Stream.of(names, defaults, overrides), companions.stream(), attached.stream())
        .flatMap(contents -> contents)
        .map(content -> content == null ? "" : content.fingerprint())
        .collect(Collectors.joining("\n"));
  }

  /** Returns a short hash of the fingerprint, with which people distinguish loads. */
  String hash() {
    return FileContent.sha256(fingerprint().getBytes(StandardCharsets.UTF_8))
        .substring(0, HASH_LENGTH);
  }
}
