// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

/**
 * Decides whether a request may pass, at a time that it is told.
 *
 * <p>For one thread. Time never steps back from one call to the next.
 */
interface Algorithm {

  /**
   * Decides on one request.
   *
   * @param bucket whose tokens are spent, from 0
   * @param cost tokens, 0 to the limit's burst; 0 reads the bucket and changes nothing
   * @param nowNanos the present, from 0
   * @return what was decided, and the bucket afterwards
   */
  Verdict decide(int bucket, long cost, long nowNanos);
}
