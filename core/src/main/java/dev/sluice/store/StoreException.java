// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

/**
 * The store could not decide: it is unreachable, too slow, full, or holds a value that is not a
 * TAT.
 *
 * <p>What it means for the request is up to the caller's failure rule. Whether the charge was made
 * is unknown, unless the message says that it was not.
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
   * Returns whether the store has certainly not charged anything, and will not. It concerns the
   * charge that failed: where many ids are spent from in one call, others may have been charged. A
   * store that knows overrides this. What a limiter keeps about a refund of unknown fate is not
   * needed then.
   *
   * @return false where something was charged or nobody knows, as in this class
   */
  public boolean chargedNothing() {
    return false;
  }
}
