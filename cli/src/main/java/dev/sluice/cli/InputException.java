// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Exit.ExitException;
import java.util.List;

/** Input that can't be worked on: what was found, what was expected, where. */
final class InputException extends ExitException {

  private static final long serialVersionUID = 1;

  private final transient List<String> mistakes;

  InputException(String message) {
    this(List.of(), message);
  }

  /**
   * Reports several mistakes at once.
   *
   * @param mistakes a line each
   * @param outcome a sentence on what they come to
   */
  InputException(List<String> mistakes, String outcome) {
    super(Exit.BROKEN_INPUT, outcome, null);
    this.mistakes = List.copyOf(mistakes);
  }

  /** The lines before the message; empty if the message is all there is to say. */
  List<String> mistakes() {
    return mistakes;
  }
}
