// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.admin;

/** Thrown when a place that keeps overrides and penalties can be neither read nor written. */
public final class KeepException extends RuntimeException {

  private static final long serialVersionUID = 1;

  KeepException(String message, Throwable cause) {
    super(message, cause);
  }
}
