// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

/** Thrown when a good command was not carried out, for a reason that its user may overrule. */
final class NotDoneException extends RuntimeException {

  private static final long serialVersionUID = 1;

  NotDoneException(String message, Throwable cause) {
    super(message, cause);
  }

  NotDoneException(String message) {
    super(message);
  }
}
