// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import picocli.CommandLine.Option;

/** The option of commands that answer in sentences on a terminal. */
final class JsonOption {

  @Option(
      names = "--json",
      description =
          "Print JSON, as the HTTP API answers; the default when the output is not a terminal.")
  private boolean json;

  /** Whether people read the answer, and did not ask for JSON. */
  boolean isForPeople(Console console) {
    return console.isTerminal() && !json;
  }
}
