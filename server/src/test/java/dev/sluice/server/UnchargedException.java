// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server;

import dev.sluice.store.StoreException;

/** The failure of a store that certainly charged nothing. */
public final class UnchargedException extends StoreException {

  private static final long serialVersionUID = 1;

  /** Makes a failure, whose message ends as those of our stores do. */
  public UnchargedException(String why) {
    super(why + "; nothing was charged");
  }

  @Override
  public boolean chargedNothing() {
    return true;
  }
}
