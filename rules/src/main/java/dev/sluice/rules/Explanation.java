// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Why a rule was chosen, and those before it were not. Immutable and thread-safe.
 *
 * @param passedOver the rules before the one that decides, in order; all rules if none does
 * @param match the rule that matches, null if none does or the request cannot be used
 * @param unusable where the book stops because the request cannot be used; null if it can
 */
public record Explanation(
    List<PassedOver> passedOver, @Nullable RuleMatch match, @Nullable Unusable unusable) {

  /**
   * Makes an explanation.
   *
   * @param passedOver copied
   * @param match the rule that matches, null if none does or the request cannot be used
   * @param unusable where the book stops, null if the request can be used
   */
  public Explanation {
    passedOver = List.copyOf(passedOver);
  }

  /**
   * A rule that does not match.
   *
   * @param line where it starts in the file, from 1
   * @param reason what it wants instead
   */
  public record PassedOver(int line, String reason) {}

  /**
   * A rule that needs what the request lacks, or has in a form that cannot be used: the request is
   * refused.
   *
   * @param line where the rule starts in the file, from 1
   * @param detail what is missing or unusable, as the client is told
   */
  public record Unusable(int line, String detail) {}
}
