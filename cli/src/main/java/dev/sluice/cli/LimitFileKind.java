// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Which of the kinds of limit files a file is, by its first lines. */
enum LimitFileKind {
  DEFAULTS("defaults"),
  OVERRIDES("overrides"),
  NAMES("names"),
  RULES("rules"),
  TOKENS("tokens");

  private static final int LOOKED_AT = 1 << 16;

  private final String word;

  LimitFileKind(String word) {
    this.word = word;
  }

  /**
   * Overrides are a list. A file with a section of limits or overrides counts as defaults. A file
   * with nothing but the section {@code names:} declares names. One that starts with a field of
   * rule books, such as {@code rules:}, is a rule book, and one that starts with {@code tokens:} or
   * {@code certificates:} is a file of tokens.
   */
  static LimitFileKind of(Path file) {
    InputFiles.require(file);
    if (!Files.isRegularFile(file)) { // opening a pipe waits for somebody who writes to it
      return DEFAULTS; // the reader of limit files reports it
    }
    byte[] start;
    try (InputStream in = InputFiles.open(file)) {
      start = in.readNBytes(LOOKED_AT);
    } catch (IOException e) {
      throw new InputException(file + ": can't be read: " + e.getMessage());
    }
    List<String> top =
        new String(start, StandardCharsets.UTF_8)
            .replace("\uFEFF", "")
            .lines()
            .filter(line -> line.matches("[^\\s#].*") && !line.matches("(---|%).*"))
            .toList();
    if (!top.isEmpty() && top.get(0).matches("[-\\[].*")) {
      return OVERRIDES;
    }
    if (top.stream().anyMatch(line -> line.matches("(limits|overrides):.*"))) {
      return DEFAULTS; // a file of sections, whichever they are
    }
    if (!top.isEmpty() && top.get(0).matches("(rules(Only)?|ignoreCase|methodOverride):.*")) {
      return RULES;
    }
    if (!top.isEmpty() && top.get(0).matches("(tokens|certificates):.*")) {
      return TOKENS;
    }
    boolean names =
        !top.isEmpty()
            && top.get(0).startsWith("names:")
            && top.stream().skip(1).allMatch(line -> line.startsWith("-")); // its list
    return names ? NAMES : DEFAULTS;
  }

  @Override
  public String toString() {
    return word;
  }
}
