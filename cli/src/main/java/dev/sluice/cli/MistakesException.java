// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.util.List;

/** Several mistakes of one input, each with its place, and a sentence on what they come to. */
final class MistakesException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final transient List<String> mistakes;

  MistakesException(List<String> mistakes, String outcome) {
    super(outcome);
    this.mistakes = List.copyOf(mistakes);
  }

  /** At least one, a line each. */
  List<String> mistakes() {
    return mistakes;
  }
}
