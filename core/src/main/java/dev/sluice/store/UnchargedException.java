// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

/** A failure before anything was charged, which its message says at the end. */
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
