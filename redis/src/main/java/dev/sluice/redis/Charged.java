// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.store.StoreException;
import org.jspecify.annotations.Nullable;

/** The effect of a call that failed, as far as the caller can know. */
enum Charged {
  /** The server has certainly not charged anything. */
  NOTHING("nothing was charged"),
  /** The call was sent, and its answer is lost. */
  UNKNOWN("whether anything was charged is unknown");

  private final String words;

  Charged(String words) {
    this.words = words;
  }

  /** Returns the effect of a call, by whether the server can have seen it. */
  static Charged by(boolean neverSent) {
    return neverSent ? NOTHING : UNKNOWN;
  }

  /** Returns a message with this effect at its end. */
  String after(String message) {
    return message + "; " + words;
  }

  StoreException exception(String message) {
    return new StoreException(after(message));
  }

  StoreException exception(String message, @Nullable Throwable cause) {
    return cause == null ? exception(message) : new StoreException(after(message), cause);
  }
}
