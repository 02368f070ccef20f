// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.reservation;

/** Thrown for a token that cannot be cancelled. Nothing was changed. */
public final class TokenException extends RuntimeException {

  private static final long serialVersionUID = 1;

  /** Why a token cannot be cancelled. */
  public enum Reason {
    /** No server with this key has made the token. */
    UNKNOWN,
    /** The token has expired, so the reserved tokens stay spent. */
    EXPIRED,
    /** The token was cancelled already. */
    USED
  }

  private final Reason reason;

  TokenException(Reason reason, String message) {
    super(message, null, false, false); // an answer, not a fault of the server
    this.reason = reason;
  }

  public Reason reason() {
    return reason;
  }
}
