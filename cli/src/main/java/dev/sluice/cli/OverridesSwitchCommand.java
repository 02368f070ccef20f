// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.LimitName;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code sluice overrides enable} and {@code disable}: whether an override holds. */
@Command
final class OverridesSwitchCommand implements Callable<Integer> {

  private final Console console;
  private final boolean enabled;

  @Mixin private OverrideIdOptions override = new OverrideIdOptions();
  @Mixin private DatabaseOptions database = new DatabaseOptions();

  private OverridesSwitchCommand(Console console, boolean enabled) {
    this.console = console;
    this.enabled = enabled;
  }

  static CommandLine commandLine(Console console, boolean enabled) {
    CommandLine command = new CommandLine(new OverridesSwitchCommand(console, enabled));
    command
        .getCommandSpec()
        .usageMessage()
        .description(
            enabled
                ? "Puts a disabled override of the table in force again."
                : "Takes an override of the table out of force, and keeps it.")
        .footerHeading("%nExample:%n")
        .footer(
            "  sluice overrides %s NewOrdersPerAccount 12345678 \\"
                .formatted(enabled ? "enable" : "disable"),
            "       --db postgresql://sluice@db/limits");
    return command;
  }

  @Override
  public Integer call() {
    Catalogue catalogue = override.catalogue();
    LimitName name = catalogue.get(override.limit());
    String id = override.canonical(catalogue, Strictness.LENIENT);
    boolean found = database.onTable(catalogue, table -> table.setEnabled(name, id, enabled));
    console
        .err()
        .println(
            found
                ? (enabled ? "enabled " : "disabled ") + name.bucketKey(id)
                : "there is no override " + name.bucketKey(id) + " in the table");
    return found ? Exit.DONE : Exit.NO;
  }
}
