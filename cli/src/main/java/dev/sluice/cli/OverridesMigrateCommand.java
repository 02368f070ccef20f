// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.limit.Catalogue;
import dev.sluice.postgres.OverridesTable;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code sluice overrides migrate}: makes or updates the table. */
@Command(
    name = "migrate",
    description = "Makes the table of overrides, or brings it to the schema of this version.",
    footerHeading = "%nExample:%n",
    footer = "  sluice overrides migrate --db postgresql://sluice@db.example.com/limits")
final class OverridesMigrateCommand implements Callable<Integer> {

  private final Console console;

  @Mixin private DatabaseOptions database = new DatabaseOptions();

  OverridesMigrateCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    int applied = database.onTable(Catalogue.samples(), OverridesTable::migrate);
    console.err().println(applied == 0 ? "the schema is up to date" : "the schema was updated");
    return Exit.DONE;
  }
}
