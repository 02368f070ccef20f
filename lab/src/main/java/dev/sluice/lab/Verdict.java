// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

/**
 * The decision of an algorithm.
 *
 * @param admitted whether the request may pass
 * @param retryAfterNanos how long the client is told to wait; 0 if it was admitted, else at least 1
 * @param level how many tokens are taken after the decision, 0 to the limit's burst
 */
record Verdict(boolean admitted, long retryAfterNanos, double level) {

  static Verdict admitted(double level) {
    return new Verdict(true, 0, level);
  }

  static Verdict denied(long retryAfterNanos, double level) {
    return new Verdict(false, Math.max(retryAfterNanos, 1), level);
  }
}
