// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class PathPatternTest {

  @ParameterizedTest
  @CsvSource({
    "/**, /a, true",
    "/a/**, /a/b, true",
    "/a/**, //a/, true",
    "/a/**, /a/{x}/**, true",
    "/*, /c, true",
    "/{x}, /*, true",
    "/a/{x}, /a/b, true",
    "/a, /a, true",
    "/a/**, /b, false",
    "/a/*, /a/**, false",
    "/a/b, /a/*, false",
    "/*, /, false",
    "/a, /A, false"
  })
  void covers_allThatTheOtherOneMatches(String pattern, String other, boolean covers) {
    assertThat(PathPattern.parse(pattern).covers(PathPattern.parse(other))).isEqualTo(covers);
  }

  /** No word of a pattern tells "c" from any other word that it does not name. */
  @Test
  void covers_saysWhatMatchingEveryShortPathSays() {
    List<PathPattern> patterns = new ArrayList<>();
    for (List<String> words : words(List.of("a", "b", "*"), 2)) {
      patterns.add(PathPattern.parse("/" + String.join("/", words)));
      patterns.add(PathPattern.parse("/" + String.join("/", words) + "/**"));
    }
    List<List<String>> paths = words(List.of("a", "b", "c"), 3);
    for (PathPattern one : patterns) {
      for (PathPattern other : patterns) {
        boolean covers =
            paths.stream()
                .filter(path -> other.match(path) != null)
                .allMatch(path -> one.match(path) != null);
        assertThat(one.covers(other)).as("%s covers %s", one, other).isEqualTo(covers);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "/a,        a",
    "/a/*,      a",
    "/a/{b}/c,  a",
    "/a/**,     a",
    "/,         -",
    "/**,       -",
    "/*/a,      -",
    "/{b}/a,    -"
  })
  void leadingSegment_isThatOfAllItsPaths(String pattern, String expected) {
    assertThat(PathPattern.parse(pattern).leadingSegment())
        .isEqualTo(expected.equals("-") ? null : expected);
  }

  /** Up to so many of the words, in each order. */
  private static List<List<String>> words(List<String> alphabet, int most) {
    List<List<String>> all = new ArrayList<>(List.of(List.of()));
    for (int i = 0; i < all.size(); i++) {
      List<String> begun = all.get(i);
      for (String word : begun.size() < most ? alphabet : List.<String>of()) {
        List<String> longer = new ArrayList<>(begun);
        longer.add(word);
        all.add(longer);
      }
    }
    return all;
  }
}
