// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

/**
 * Thrown if a log cannot be replayed, or if an option of the replay has a mistake. The message
 * names the place of the problem and what to do.
 */
public final class LogException extends RuntimeException {

  private static final long serialVersionUID = 1;

  LogException(String message) {
    super(message);
  }
}
