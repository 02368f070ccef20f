// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.postgres.PutResult;
import dev.sluice.yaml.LimitFiles;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code sluice overrides import}: a file of overrides into the table. */
@Command(
    name = "import",
    description = {
      "Writes the overrides of a file into the table: all or, if one is wrong, none.",
      "",
      "New ones are enabled. Those that are there get the new quota, and the new comment if there is"
          + " one; they stay disabled if they are. Others are left alone. Where one would become"
          + " lower, nothing is written without --force, and the exit code is 1."
    },
    footerHeading = "%nExample:%n",
    footer = {
      "  sluice overrides import --overrides overrides.yml \\",
      "       --db postgresql://sluice@db/limits"
    })
final class OverridesImportCommand implements Callable<Integer> {

  private final Console console;

  @Mixin private LimitFileOptions files = new LimitFileOptions();
  @Mixin private DatabaseOptions database = new DatabaseOptions();

  @Option(
      names = "--strict",
      description = "Refuse ids that are not canonical, and special-purpose addresses.")
  private boolean strict;

  @Option(
      names = "--force",
      description = "Lower overrides too: to a lower rate, or to a smaller burst at the same rate.")
  private boolean force;

  OverridesImportCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    if (files.overrides() == null && files.limits() == null) {
      throw new InputException("the option --overrides FILE is missing: the file to import");
    }
    LimitFiles read = files.files(strict ? Strictness.STRICT : Strictness.LENIENT);
    Limits limits = read.load();
    read.lint().forEach(console.err()::println); // warnings: a mistake ended the load
    List<LimitOverride> overrides =
        limits.catalogue().names().stream()
            .flatMap(name -> limits.overridesOf(name).stream())
            .toList();
    PutResult written = database.onTable(limits.catalogue(), table -> table.put(overrides, force));
    console
        .err()
        .printf(
            "%s added, %s that were there written again%s%n",
            written.added(),
            written.again(),
            written.disabled() == 0 ? "" : ", of which %s disabled".formatted(written.disabled()));
    return Exit.DONE;
  }
}
