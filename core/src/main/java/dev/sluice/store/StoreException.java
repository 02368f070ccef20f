// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

/**
 * The store could not decide: it is unreachable, too slow, full, or holds a value that is not a
 * TAT.
 *
 * <p>The caller's failure rule decides on the request. Whether the charge was made is unknown,
 * unless the message says that it was not.
 */
public class StoreException extends RuntimeException {

  private static final long serialVersionUID = 1;

  /**
   * Makes an exception.
   *
   * @param message what was asked, of which store, and what went wrong
   */
  public StoreException(String message) {
    super(message);
  }

  /**
   * Makes an exception with its cause.
   *
   * @param message what was asked, of which store, and what went wrong
   * @param cause what the store's client threw
   */
  public StoreException(String message, Throwable cause) {
    super(message, cause);
  }

  /**
   * Returns whether the failed charge was certainly not made, and will not be. If one call spends
   * from many ids, others may have been charged. A store that knows overrides this; the limiter
   * then need not treat a failed refund as still in flight.
   *
   * @return false if the charge was made or its effect is unknown, as in this class
   */
  public boolean chargedNothing() {
    return false;
  }
}
