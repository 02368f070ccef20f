// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

/**
 * Thrown if a store could not decide: the store cannot be reached, is too slow or is full, or a
 * stored value is not a TAT.
 *
 * <p>After this exception, the limit's failure rule decides on the request. It is unknown whether
 * the charge was made, unless the message ends with "nothing was charged".
 */
public class StoreException extends RuntimeException {

  private static final long serialVersionUID = 1;

  /**
   * Makes an exception.
   *
   * @param message names the request, the store, and the failure
   */
  public StoreException(String message) {
    super(message);
  }

  /**
   * Makes an exception with its cause.
   *
   * @param message names the request, the store, and the failure
   * @param cause the exception of the store's client
   */
  public StoreException(String message, Throwable cause) {
    super(message, cause);
  }

  /**
   * Returns whether the failed charge was certainly not made, and will not be made later. If this
   * method returns false, the limiter assumes that a failed refund may still be applied.
   *
   * @return false if the charge was made, or if it is unknown whether the charge was made; this
   *     class always returns false
   */
  public boolean chargedNothing() {
    return false;
  }
}
