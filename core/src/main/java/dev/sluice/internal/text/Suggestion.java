// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import java.util.Collection;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * Finds the known word that a user probably meant. Comparing with a known word of similar length
 * takes time proportional to the product of both lengths.
 */
public final class Suggestion {

  private static final int LONGEST = 100;
  private static final Pattern HINT = Pattern.compile("; did you mean \"[^\"]*\"\\?");

  private Suggestion() {}

  /**
   * Returns a hint for a message about an unknown word.
   *
   * @return {@code ; did you mean "…"?}, or an empty text if no known word is similar
   */
  public static String didYouMean(String found, Collection<String> known) {
    String best = "";
    String word = found.toLowerCase(Locale.ROOT);
    // A candidate differs in at most a third of the letters, since typing errors change fewer.
    int bestDistance = Math.max(2, Math.min(found.length(), LONGEST) / 3) + 1;
    for (String candidate : known) {
      int longer = Math.max(found.length(), candidate.length());
      // There can be thousands of known words; most of them are excluded by their length alone.
      if (longer > LONGEST || Math.abs(found.length() - candidate.length()) >= bestDistance) {
        continue;
      }
      // A candidate with no letter in common has a distance equal to the longer length.
      int below = Math.min(bestDistance, longer);
      int distance = distance(word, candidate.toLowerCase(Locale.ROOT), below);
      if (distance < below) {
        best = candidate;
        bestDistance = distance;
      }
    }
    return best.isEmpty() ? "" : "; did you mean \"" + best + "\"?";
  }

  /**
   * Removes the hint "did you mean …" from a message, for readers who must not see the known words.
   *
   * @param message a message to which {@link #didYouMean} was perhaps appended
   */
  public static String removedFrom(String message) {
    return HINT.matcher(message).replaceAll("");
  }

  /**
   * Returns the edit distance with transpositions (optimal string alignment).
   *
   * @param below the bound from which the result is inexact: if the distance is at least this
   *     bound, the result is any number that is at least this bound
   */
  private static int distance(String a, String b, int below) {
    int[] before = new int[b.length() + 1];
    int[] last = new int[b.length() + 1];
    int[] row = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      last[j] = j;
    }
    int nearestOfLast = 0;
    for (int i = 1; i <= a.length(); i++) {
      row[0] = i;
      int nearest = i;
      for (int j = 1; j <= b.length(); j++) {
        int change = a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1;
        row[j] = Math.min(Math.min(last[j], row[j - 1]) + 1, last[j - 1] + change);
        if (i > 1
            && j > 1
            && a.charAt(i - 1) == b.charAt(j - 2)
            && a.charAt(i - 2) == b.charAt(j - 1)) {
          row[j] = Math.min(row[j], before[j - 2] + 1);
        }
        nearest = Math.min(nearest, row[j]);
      }
      if (Math.min(nearest, nearestOfLast) >= below) {
        return below; // later rows cannot have smaller distances than the last two rows
      }
      nearestOfLast = nearest;
      int[] free = before;
      before = last;
      last = row;
      row = free;
    }
    return last[b.length()];
  }
}
