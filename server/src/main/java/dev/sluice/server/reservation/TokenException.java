// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.reservation;

/** A token that gives nothing back. Nothing was changed. */
public final class TokenException extends RuntimeException {

  private static final long serialVersionUID = 1;

  /** Why a token gives nothing back. */
  public enum Reason {
    /** No server with this key has made it. */
    UNKNOWN,
    /** Its time is over: what it stands for stays spent. */
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
