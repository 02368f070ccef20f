// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

/**
 * Thrown if a store could not decide: the store cannot be reached, is too slow or is full, or a
 * stored value is not a TAT.
 *
 * <p>The failure rule of the limit then decides on the request. It is unknown whether the charge
 * was made, unless the message ends with "nothing was charged".
 */
public class StoreException extends RuntimeException {

  private static final long serialVersionUID = 1;

  /**
   * Makes an exception.
   *
   * @param message the request, the store, and the failure
   */
  public StoreException(String message) {
    super(message);
  }

  /**
   * Makes an exception with its cause.
   *
   * @param message the request, the store, and the failure
   * @param cause the exception of the store's client
   */
  public StoreException(String message, Throwable cause) {
    super(message, cause);
  }

  /**
   * Returns whether the failed charge was certainly not made, and will not be made later. If one
   * call spends from many ids, other ids can have been charged. A store that knows this returns
   * true; otherwise the limiter treats a failed refund as still in flight.
   *
   * @return false if the charge was made or its effect is unknown, as in this class
   */
  public boolean chargedNothing() {
    return false;
  }
}
