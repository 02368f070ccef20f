// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code sluice overrides}: what can be done with overrides. */
@Command(
    name = "overrides",
    description = {
      "Reads and writes overrides: of a running server, in a file, or in a table of a PostgreSQL"
          + " database.",
      "",
      "A server started with --overrides-db keeps reading the table, and applies it. The commands"
          + " set, remove and list ask a running server."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice overrides dump --overrides overrides.yml",
      "  sluice overrides migrate --db postgresql://sluice@db/limits",
      "  sluice help overrides add"
    },
    synopsisSubcommandLabel = "COMMAND")
final class OverridesCommand implements Runnable {

  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public void run() {
    throw UsageErrors.commandMissing(spec);
  }
}
