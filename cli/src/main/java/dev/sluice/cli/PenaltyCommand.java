// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Console.CommandGroup;
import dev.sluice.cli.ServerSettings.ListCommand;
import dev.sluice.cli.ServerSettings.RemoveCommand;
import dev.sluice.cli.ServerSettings.SetCommand;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code sluice penalty}: the group of commands on penalties. */
@Command(
    name = "penalty",
    description = {
      "Empties the bucket of one id on a running server until a given time.",
      "",
      "Until the penalty ends, every cost above 0 is denied on every port. No restart is needed."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice penalty set ApiCallsPerKey k --for 10m --server http://127.0.0.1:8080",
      "  sluice penalty set ApiCallsPerKey k --owe 500 --server http://127.0.0.1:8080",
      "  sluice penalty remove ApiCallsPerKey k --server http://127.0.0.1:8080"
    },
    synopsisSubcommandLabel = "COMMAND")
final class PenaltyCommand extends CommandGroup {

  private static final String PATH = "/v1/admin/penalties";

  static CommandLine commandLine(Console console) {
    return new CommandLine(new PenaltyCommand())
        .addSubcommand(console.given(new SetPenalty()))
        .addSubcommand(console.given(new RemovePenalty()))
        .addSubcommand(console.given(new ListPenalties()));
  }

  /** The options for the end of a penalty, of which exactly one is given. */
  private static final class PenaltyEnd {

    @Option(
        names = "--until",
        required = true,
        paramLabel = "TIME",
        description =
            "The end: a time such as 2026-11-22T12:00:00Z, or a day such as 2027-03-01, at its start in UTC.")
    private @Nullable String until;

    @Option(
        names = "--for",
        required = true,
        paramLabel = "PERIOD",
        description = "The length of the penalty, such as 10m, 2h or 7d.")
    private @Nullable String time;

    @Option(
        names = "--owe",
        required = true,
        paramLabel = "N",
        description =
            "A debt in tokens: the penalty ends when this many tokens would have been refilled."
                + " The bucket is empty at the end.")
    private @Nullable Long owe;
  }

  @Command(
      name = "set",
      description = "Sets or replaces the penalty on one id, and prints it.",
      footerHeading = "%nExample:%n",
      footer = {
        "  sluice penalty set ApiCallsPerKey k --for 10m --comment 'Ticket 17' \\",
        "       --server http://127.0.0.1:8080 --token-file ops.token"
      })
  private static final class SetPenalty extends SetCommand {

    @ArgGroup(multiplicity = "1")
    private PenaltyEnd end = new PenaltyEnd();

    SetPenalty() {
      super(PATH);
    }

    @Override
    void addTo(Map<String, Object> body) {
      if (end.until != null) {
        body.put("until", end.until);
      }
      if (end.time != null) {
        body.put("for", end.time);
      }
      if (end.owe != null) {
        body.put("owe", end.owe);
      }
    }
  }

  @Command(
      name = "remove",
      description = "Removes the penalty on one id; the rest of a debt is forgiven.",
      footerHeading = "%nExample:%n",
      footer = "  sluice penalty remove ApiCallsPerKey k --server http://127.0.0.1:8080")
  private static final class RemovePenalty extends RemoveCommand {

    RemovePenalty() {
      super(PATH);
    }
  }

  @Command(
      name = "list",
      description = "Prints the penalties in force on a running server, one per line.",
      footerHeading = "%nExample:%n",
      footer = "  sluice penalty list --server http://127.0.0.1:8080")
  private static final class ListPenalties extends ListCommand {

    ListPenalties() {
      super(PATH, "penalties");
    }
  }
}
