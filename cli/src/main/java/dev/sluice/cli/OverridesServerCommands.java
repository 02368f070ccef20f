// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code sluice overrides set}, {@code remove} and {@code list}: overrides of a running server. */
final class OverridesServerCommands {

  private static final String PATH = "/v1/admin/overrides";

  private OverridesServerCommands() {}

  /** {@code sluice overrides set}. */
  @Command(
      name = "set",
      description = {
        "Sets the override of one id on a running server, and prints it.",
        "",
        "It is in force there at once, and on servers that share its table or file soon after."
      },
      footerHeading = "%nExample:%n",
      footer = {
        "  sluice overrides set ApiCallsPerKey k --burst 500 --count 500 --period 1m \\",
        "       --server http://127.0.0.1:8080 --token-file ops.token"
      })
  static final class SetOne extends ServerSettings.SetOne {

    @Mixin private QuotaOptions quota = new QuotaOptions();

    @Option(
        names = "--force",
        description =
            "Lower an override too: to a lower rate, or to a smaller burst at the same rate.")
    private boolean force;

    SetOne(Console console) {
      super(console, PATH);
    }

    @Override
    boolean force() {
      return force;
    }

    @Override
    void addTo(Map<String, Object> body) {
      body.put("burst", quota.burst());
      body.put("count", quota.count());
      body.put("period", quota.period());
    }
  }

  /** {@code sluice overrides remove}. */
  @Command(
      name = "remove",
      description = "Removes the override of one id that was set on a running server.",
      footerHeading = "%nExample:%n",
      footer = "  sluice overrides remove ApiCallsPerKey k --server http://127.0.0.1:8080")
  static final class RemoveOne extends ServerSettings.RemoveOne {

    RemoveOne(Console console) {
      super(console, PATH);
    }
  }

  /** {@code sluice overrides list}. */
  @Command(
      name = "list",
      description = "Prints the overrides that are in force on a running server, one a line.",
      footerHeading = "%nExample:%n",
      footer = "  sluice overrides list --limit ApiCallsPerKey --server http://127.0.0.1:8080")
  static final class ListAll extends ServerSettings.ListAll {

    ListAll(Console console) {
      super(console, PATH, "overrides");
    }
  }
}
