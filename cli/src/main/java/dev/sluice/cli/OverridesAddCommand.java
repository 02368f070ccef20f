// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.LimitOverride;
import dev.sluice.postgres.PutResult;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code sluice overrides add}: one override into the table. */
@Command(
    name = "add",
    description = {
      "Writes one override into the table.",
      "",
      "A new one is enabled. One that is there gets the new quota and comment, and stays disabled"
          + " if it is."
    },
    footerHeading = "%nExample:%n",
    footer = {
      "  sluice overrides add NewOrdersPerAccount 12345678 --burst 300 --count 600 \\",
      "       --period 3h --comment 'Ticket 17' --db postgresql://sluice@db/limits"
    })
final class OverridesAddCommand implements Callable<Integer> {

  private final Console console;

  @Mixin private OverrideIdOptions override = new OverrideIdOptions();
  @Mixin private DatabaseOptions database = new DatabaseOptions();

  @Mixin private QuotaOptions quota = new QuotaOptions();

  @Option(names = "--comment", paramLabel = "TEXT", description = "A note for people.")
  private String comment = "";

  @Option(
      names = "--strict",
      description = "Refuse an id that is not canonical, and special-purpose addresses.")
  private boolean strict;

  @Option(
      names = "--force",
      description = "Lower overrides too: to a lower rate, or to a smaller burst at the same rate.")
  private boolean force;

  OverridesAddCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    Catalogue catalogue = override.catalogue();
    String id = override.canonical(catalogue, strict ? Strictness.STRICT : Strictness.LENIENT);
    LimitOverride made =
        new LimitOverride(catalogue.get(override.limit()), id, quota.quota(), comment);
    PutResult written = database.onTable(catalogue, table -> table.put(List.of(made), force));
    console
        .err()
        .printf(
            "%s %s%s%n",
            written.added() == 1 ? "added" : "written again",
            made.name().bucketKey(id),
            written.disabled() == 1 ? ", which is disabled: see sluice overrides enable" : "");
    return Exit.DONE;
  }
}
