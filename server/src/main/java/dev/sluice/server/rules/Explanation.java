// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rules;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Why a rule was chosen, and those before it were not. Immutable and thread-safe.
 *
 * @param passedOver the rules before the one that matches, in order; all rules if none does
 * @param match the rule that matches, null if none does
 */
public record Explanation(List<PassedOver> passedOver, @Nullable RuleMatch match) {

  /**
   * Makes an explanation.
   *
   * @param passedOver copied
   * @param match the rule that matches, null if none does
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
}
