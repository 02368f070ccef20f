// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

/** A rule of a book, of either kind. Immutable and thread-safe. */
sealed interface AnyRule permits DescriptorRule, RequestRule {

  /** The charge of the rule. */
  RuleCharging<?> charging();

  /** Whether this rule certainly matches whatever the other one does. */
  boolean covers(AnyRule other);

  /** Where it starts in the file, from 1. */
  default int line() {
    return charging().line();
  }
}
