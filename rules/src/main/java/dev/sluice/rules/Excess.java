// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

/**
 * The fate of a cost that does not fit, where the work is done already: a proxy that charges when
 * the response has ended cannot take the response back.
 */
public enum Excess {
  /** The request is denied and charged nothing: the usual. */
  REJECT,
  /** The request is denied, and takes what is left of the bucket. */
  DRAIN,
  /** The whole cost is charged; the bucket is in debt until it has refilled. */
  DEBT;

  /** How many bursts a bucket may owe by {@link #DEBT}. */
  public static final int DEEPEST_DEBT = 10;
}
