// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.reservation;

/** Thrown for a token that gives nothing back. Nothing was changed. */
public final class TokenException extends RuntimeException {

  private static final long serialVersionUID = 1;

  /** Why a token gives nothing back. */
  public enum Reason {
    /** No server with this key has made it. */
    UNKNOWN,
    /** The token has expired: its tokens stay spent. */
    EXPIRED,
    /** It was cancelled already. */
    USED
  }

  private final Reason reason;

  TokenException(Reason reason, String message) {
    super(message, null, false, false); // an answer, not a fault of the server
    this.reason = reason;
  }

  /**
   * Returns why.
   *
   * @return the reason
   */
  public Reason reason() {
    return reason;
  }
}
