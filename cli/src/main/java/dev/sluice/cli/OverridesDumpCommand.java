// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.Limits;
import dev.sluice.postgres.OverridesTable;
import dev.sluice.postgres.TableContent;
import dev.sluice.text.SafeText;
import dev.sluice.yaml.OverridesCsv;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code sluice overrides dump}: overrides as CSV. */
@Command(
    name = "dump",
    description = {
      "Prints overrides as CSV, sorted: name,id,count,burst,period,comment.",
      "",
      "From a file, or, with --db, those of a table that hold; rows that can't hold are named on"
          + " standard error, and the exit code is 1."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice overrides dump --overrides overrides.yml",
      "  sluice overrides dump --overrides overrides.yml --names names.yml \\",
      "       > overrides.csv",
      "  sluice overrides dump --db postgresql://sluice@db.example.com/limits"
    })
final class OverridesDumpCommand implements Callable<Integer> {

  private final Console console;

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private LimitFileOptions files = new LimitFileOptions();
  @Mixin private DatabaseOptions database = new DatabaseOptions();

  OverridesDumpCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    boolean fromTable = spec.commandLine().getParseResult().hasMatchedOption("--db");
    if (files.overrides() != null && fromTable) {
      throw new InputException("found --overrides and --db, expected one or the other");
    }
    if (files.overrides() != null || (files.limits() != null && database.none())) {
      print(files.files(Strictness.LENIENT).load());
      return Exit.DONE;
    }
    if (database.none()) {
      throw new InputException(
          "the option --overrides FILE or --db URL is missing: the overrides to print");
    }
    Catalogue catalogue =
        files.none()
            ? KnownNames.catalogue(null)
            : files.files(Strictness.LENIENT).load().catalogue();
    TableContent content = database.onTable(catalogue, OverridesTable::load);
    print(Limits.builder(catalogue).build().withOverrides(content.overrides()));
    content
        .bad()
        .forEach(
            row ->
                console
                    .err()
                    .println("bad row " + SafeText.quote(row.bucketKey()) + ": " + row.message()));
    return content.bad().isEmpty() ? Exit.DONE : Exit.NO;
  }

  private void print(Limits limits) {
    try {
      Writer target = new OutputStreamWriter(console.out(), StandardCharsets.UTF_8);
      OverridesCsv.write(limits, target);
      target.flush();
    } catch (IOException e) {
      throw new OutputException(e);
    }
  }
}
