// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

/** A denial, for those who prefer an exception: what {@link Decision#orThrow} throws. */
public final class DeniedException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final transient Decision decision;

  DeniedException(Decision decision) {
    super(decision.message(), null, false, false);
    this.decision = decision;
  }

  /**
   * The denial.
   *
   * @return the decision
   */
  public Decision decision() {
    return decision;
  }
}
