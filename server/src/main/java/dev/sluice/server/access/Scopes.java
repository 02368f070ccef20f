// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The limits that a caller may use: names, and patterns in which "*" stands for any characters.
 * Immutable and thread-safe.
 *
 * @param patterns as they stand in the file; none for every limit
 * @param compiled the same
 */
record Scopes(List<String> patterns, List<Pattern> compiled) {

  static final Scopes ALL = new Scopes(List.of(), List.of());

  static Scopes of(List<String> patterns) {
    return new Scopes(List.copyOf(patterns), patterns.stream().map(Scopes::compile).toList());
  }

  private static Pattern compile(String pattern) {
    return Pattern.compile(
        List.of(pattern.split("\\*", -1)).stream()
            .map(Pattern::quote)
            .collect(Collectors.joining(".*")));
  }

  boolean containAll() {
    return patterns.isEmpty() || patterns.contains("*");
  }

  boolean contain(String limit) {
    return compiled.isEmpty() || compiled.stream().anyMatch(one -> one.matcher(limit).matches());
  }
}
