// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
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

  /** Beside the definition, without what skips words and rows. */
  @Test
  void didYouMean_isTheFirstOfTheNearestWords() {
    Random random = new Random(11);
    int suggested = 0;
    for (int i = 0; i < 5_000; i++) {
      String found = word(random);
      List<String> known = Stream.generate(() -> word(random)).limit(4).toList();
      String best = "";
      int nearest = Math.max(2, found.length() / 3) + 1;
      for (String one : known) {
        int distance = distance(found, one, found.length(), one.length());
        if (distance < Math.min(nearest, Math.max(found.length(), one.length()))) {
          best = one;
          nearest = distance;
        }
      }
      String hint = best.isEmpty() ? "" : "; did you mean \"" + best + "\"?";
      assertThat(Suggestion.didYouMean(found, known)).as("%s of %s", found, known).isEqualTo(hint);
      suggested += best.isEmpty() ? 0 : 1;
    }
    assertThat(suggested).isBetween(2_000, 4_900);
  }

  private static String word(Random random) {
    StringBuilder word = new StringBuilder();
    for (int letters = 1 + random.nextInt(7); letters > 0; letters--) {
      word.append("abcd".charAt(random.nextInt(4)));
    }
    return word.toString();
  }

  private static int distance(String a, String b, int i, int j) {
    if (i == 0 || j == 0) {
      return i + j;
    }
    int change = a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1;
    int least = distance(a, b, i - 1, j - 1) + change;
    if (change == 1) { // where the last letters are equal, nothing else is nearer
      least = Math.min(least, 1 + distance(a, b, i - 1, j));
      least = Math.min(least, 1 + distance(a, b, i, j - 1));
      if (i > 1
          && j > 1
          && a.charAt(i - 1) == b.charAt(j - 2)
          && a.charAt(i - 2) == b.charAt(j - 1)) {
        least = Math.min(least, 1 + distance(a, b, i - 2, j - 2));
      }
    }
    return least;
  }

  @Test
  void removedFrom_takesTheHintOut() {
    assertThat(Suggestion.removedFrom("no limit \"Ab\"; did you mean \"A\"?; at line 3"))
        .isEqualTo("no limit \"Ab\"; at line 3");
  }
}
