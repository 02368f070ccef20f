// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.LimitOverride;
import dev.sluice.postgres.PutResult;
import dev.sluice.text.GoDuration;
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

  @Option(
      names = "--burst",
      required = true,
      paramLabel = "N",
      description = "Tokens that the bucket holds.")
  private long burst;

  @Option(
      names = "--count",
      required = true,
      paramLabel = "N",
      description = "Tokens that are added every period.")
  private long count;

  @Option(
      names = "--period",
      required = true,
      paramLabel = "PERIOD",
      description = "The period, such as 1s, 180m, 1h30m, 7d or PT3H.")
  private String period = "";

  @Option(names = "--comment", paramLabel = "TEXT", description = "A note for people.")
  private String comment = "";

  @Option(
      names = "--strict",
      description = "Refuse an id that is not canonical, and special-purpose addresses.")
  private boolean strict;

  OverridesAddCommand(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() {
    Catalogue catalogue = override.catalogue();
    String id = override.canonical(catalogue, strict ? Strictness.STRICT : Strictness.LENIENT);
    LimitOverride made = new LimitOverride(catalogue.get(override.limit()), id, quota(), comment);
    String doubt = made.name().overrideId().doubt(id);
    if (doubt != null) {
      console.err().println("warning: " + doubt);
    }
    PutResult written = database.onTable(catalogue, table -> table.put(List.of(made)));
    console
        .err()
        .printf(
            "%s %s%s%n",
            written.added() == 1 ? "added" : "written again",
            made.name().bucketKey(id),
            written.disabled() == 1 ? ", which is disabled: see sluice overrides enable" : "");
    return Exit.DONE;
  }

  private Quota quota() {
    try {
      return Quota.of(burst, count, GoDuration.parse(period));
    } catch (IllegalArgumentException e) {
      throw new InputException(String.valueOf(e.getMessage()));
    }
  }
}
