// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

/** Thrown for a failure before anything was charged; its message ends with this fact. */
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
