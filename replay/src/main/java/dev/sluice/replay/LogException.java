// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

/**
 * A log that cannot be replayed, or a mistake in how it should be; the message says where, and what
 * to do.
 */
public final class LogException extends RuntimeException {

  private static final long serialVersionUID = 1;

  LogException(String message) {
    super(message);
  }
}
