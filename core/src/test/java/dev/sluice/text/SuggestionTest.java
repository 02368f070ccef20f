// SPDX-License-Identifier: Apache-2.0
package dev.sluice.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class SuggestionTest {

  private static String of(String found, String... known) {
    return Suggestion.didYouMean(found, List.of(known));
  }

  @Test
  void didYouMean_nearestWord_isTheFirstOfThem() {
    assertThat(of("cat", "cap", "can")).isEqualTo("; did you mean \"cap\"?");
    assertThat(of("cat", "dog", "cart", "cot")).isEqualTo("; did you mean \"cart\"?");
    assertThat(of("CAT", "cat")).isEqualTo("; did you mean \"cat\"?");
    assertThat(of("badc", "abcd")).as("two pairs changed places").contains("abcd");
  }

  @Test
  void didYouMean_farWord_isNotSuggested() {
    assertThat(of("ab", "xy")).as("no letter in common").isEmpty();
    assertThat(of("abcd", "wxyd")).isEmpty();
    assertThat(of("badcx", "abcdy")).isEmpty();
    assertThat(of("abcd")).isEmpty();
  }

  @Test
  void didYouMean_wordsOfAHundredLetters_areCompared_andLongerOnesAreNot() {
    String hundred = "a".repeat(100);
    assertThat(of("b" + "a".repeat(99), hundred)).contains(hundred);
    assertThat(of("b" + hundred, "a" + hundred)).isEmpty();
    assertThat(of(hundred, "a" + hundred)).isEmpty();
    assertThat(of("a" + hundred, hundred)).isEmpty();
  }

  @Test
  void removedFrom_takesTheHintOut() {
    assertThat(Suggestion.removedFrom("no limit \"Ab\"; did you mean \"A\"?; at line 3"))
        .isEqualTo("no limit \"Ab\"; at line 3");
  }
}
