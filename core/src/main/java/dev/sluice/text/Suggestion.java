// SPDX-License-Identifier: Apache-2.0
package dev.sluice.text;

import java.util.Collection;
import java.util.Locale;
import java.util.regex.Pattern;

/** Finds what somebody probably meant. Pure; takes time in the product of the lengths. */
public final class Suggestion {

  private static final int LONGEST = 100;
  private static final Pattern HINT = Pattern.compile("; did you mean \"[^\"]*\"\\?");

  private Suggestion() {}

  /**
   * A hint to append to a message about a word that is not among the known ones.
   *
   * @param found the word
   * @param known the words that there are
   * @return {@code ; did you mean "…"?}, or nothing where no known word is near
   */
  public static String didYouMean(String found, Collection<String> known) {
    String best = "";
    // A third of the letters may be wrong: enough for a slip, too little for another word.
    int bestDistance = Math.max(2, Math.min(found.length(), LONGEST) / 3) + 1;
    for (String candidate : known) {
      int distance = distance(found, candidate);
      boolean sharesALetter = distance < Math.max(found.length(), candidate.length());
      if (sharesALetter && distance < bestDistance) {
        best = candidate;
        bestDistance = distance;
      }
    }
    return best.isEmpty() ? "" : "; did you mean \"" + best + "\"?";
  }

  /**
   * Takes hints out of a message, for a reader who must not learn the known words.
   *
   * @param message a message to which {@link #didYouMean} was perhaps appended
   * @return the message without the hint
   */
  public static String removedFrom(String message) {
    return HINT.matcher(message).replaceAll("");
  }

  /** The edit distance with transpositions (optimal string alignment), ignoring case. */
  private static int distance(String one, String other) {
    if (one.length() > LONGEST || other.length() > LONGEST) {
      return Integer.MAX_VALUE;
    }
    String a = one.toLowerCase(Locale.ROOT);
    String b = other.toLowerCase(Locale.ROOT);
    int[][] d = new int[a.length() + 1][b.length() + 1];
    for (int i = 0; i <= a.length(); i++) {
      for (int j = 0; j <= b.length(); j++) {
        if (i == 0 || j == 0) {
          d[i][j] = i + j;
          continue;
        }
        int change = a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1;
        d[i][j] = Math.min(Math.min(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + change);
        if (i > 1
            && j > 1
            && a.charAt(i - 1) == b.charAt(j - 2)
            && a.charAt(i - 2) == b.charAt(j - 1)) {
          d[i][j] = Math.min(d[i][j], d[i - 2][j - 2] + 1);
        }
      }
    }
    return d[a.length()][b.length()];
  }
}
