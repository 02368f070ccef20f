// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Exit.ExitException;
import java.util.List;

/** Thrown for wrong input. The message says what was found, what was expected, and where. */
final class InputException extends ExitException {

  private static final long serialVersionUID = 1;

  private final transient List<String> mistakes;

  InputException(String message) {
    this(List.of(), message);
  }

  /** Reports several mistakes at once, followed by a sentence about their consequence. */
  InputException(List<String> mistakes, String outcome) {
    super(Exit.BROKEN_INPUT, outcome, null);
    this.mistakes = List.copyOf(mistakes);
  }

  /** Returns the mistakes, which are printed before the message; can be empty. */
  List<String> mistakes() {
    return mistakes;
  }
}
