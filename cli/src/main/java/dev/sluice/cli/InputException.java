// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

/** Input that can't be worked on: what was found, what was expected, where. */
final class InputException extends RuntimeException {

  private static final long serialVersionUID = 1;

  InputException(String message) {
    super(message);
  }
}
