// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Beside regular expressions, and on all short texts of two letters. */
final class ValuePatternTest {

  private final Random random = new Random(11);

  private String text(String letters) {
    StringBuilder text = new StringBuilder();
    for (int i = random.nextInt(5); i > 0; i--) {
      text.append(letters.charAt(random.nextInt(letters.length())));
    }
    return text.toString();
  }

  @ParameterizedTest
  @CsvSource({
    "/api/*/action, /api/7/action, true",
    "/api/*/action, /api//action, true",
    "/api/*/action, /api/action, false",
    "*.example.com, a.example.com, true",
    "*.example.com, example.com, false",
    "foo*bar*baz, foobarbaz, true",
    "foo*bar*baz, foobaz, false",
    "a*a, a, false",
    "**, '', true",
    "a\\*, a*, true",
    "a\\*, ab, false",
    "a\\\\*, a\\b, true",
    "a\\b, a\\b, true"
  })
  void star_standsForAnyText_andABackslashBeforeItForAStar(
      String pattern, String value, boolean matches) {
    assertThat(ValuePattern.parse(pattern).matches(value)).isEqualTo(matches);
  }

  @Test
  void pattern_isReadAsItIsWritten() {
    for (int i = 0; i < 10_000; i++) {
      String value = text("ab*\\");
      ValuePattern literal = ValuePattern.literal(value);
      assertThat(ValuePattern.parse(literal.toString())).as(value).isEqualTo(literal);
      ValuePattern stars = ValuePattern.ofStars(value);
      assertThat(ValuePattern.parse(stars.toString())).as(value).isEqualTo(stars);
      assertThat(literal.matches(value) && stars.matches(value)).as(value).isTrue();
    }
  }

  @Test
  void matches_covers_andMeets_areThoseOfTheSetsOfValues() {
    List<String> all = new ArrayList<>(List.of(""));
    for (int i = 0; all.size() < 1_000; i++) {
      all.add(all.get(i) + "a");
      all.add(all.get(i) + "b");
    }
    for (int i = 0; i < 5_000; i++) {
      ValuePattern one = ValuePattern.ofStars(text("ab**"));
      ValuePattern other = ValuePattern.ofStars(text("ab**"));
      Pattern form =
          Pattern.compile(
              one.pieces().stream().map(Pattern::quote).collect(Collectors.joining(".*")));
      String both = one + " and " + other;
      assertThat(all).allMatch(text -> one.matches(text) == form.matcher(text).matches(), both);
      boolean meets = all.stream().anyMatch(text -> one.matches(text) && other.matches(text));
      assertThat(one.meets(other)).as(both).isEqualTo(meets);
      if (one.covers(other)) {
        assertThat(all).allMatch(text -> one.matches(text) || !other.matches(text), both);
      }
    }
    assertThat(ValuePattern.parse("*b*").covers(ValuePattern.parse("a*b"))).isTrue();
    assertThat(ValuePattern.parse("a*b").covers(ValuePattern.parse("*b*"))).isFalse();
    assertThat(ValuePattern.parse("*").covers(ValuePattern.ANY)).isTrue();
  }
}
