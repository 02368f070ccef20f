// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

import dev.sluice.store.StoreException;

/**
 * Thrown when a server cannot decide yet. Clients of {@code /readyz} can read the message, which
 * must not contain an address.
 */
public final class NotReadyException extends RuntimeException {

  private static final long serialVersionUID = 1;

  public NotReadyException(String message) {
    super(message);
  }

  public NotReadyException(String message, StoreException cause) {
    super(message, cause);
  }
}
