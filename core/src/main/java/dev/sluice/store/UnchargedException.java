// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

/**
 * Thrown if a charge failed before anything was charged; the message ends with "nothing was
 * charged".
 */
final class UnchargedException extends StoreException {

  private static final long serialVersionUID = 1;

  UnchargedException(String why) {
    super(why + "; nothing was charged");
  }

  @Override
  public boolean chargedNothing() {
    return true;
  }
}
