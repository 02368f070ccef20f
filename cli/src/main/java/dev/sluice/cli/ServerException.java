// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import org.jspecify.annotations.Nullable;

/** Thrown when a server could not be reached, or could not answer. */
final class ServerException extends RuntimeException {

  private static final long serialVersionUID = 1;

  ServerException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
