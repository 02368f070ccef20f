// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.stats;

/** The outcome of a spend; one that is allowed may also start a bucket. */
public enum SpendOutcome {
  /** It was allowed. */
  ALLOWED("allowed"),
  /** It was denied. */
  DENIED("denied"),
  /** A rule in shadow mode would have allowed it. */
  SHADOW_ALLOWED("shadow_allowed"),
  /** A rule in shadow mode would have denied it; it passed. */
  SHADOW_DENIED("shadow_denied"),
  /** The spend took tokens from a full bucket, so that the store had to make room for it. */
  NEW_BUCKETS("");

  private final String label;

  SpendOutcome(String label) {
    this.label = label;
  }

  /** The value of the label {@code decision} of the meter; empty for one without such a label. */
  String label() {
    return label;
  }
}
