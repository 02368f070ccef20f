// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code sluice penalty}: what can be done with penalties. */
@Command(
    name = "penalty",
    description = {
      "Empties the bucket of one id of a limit until a given time, on a running server.",
      "",
      "Every cost above 0 is denied until then, on every door. Nobody needs to be restarted."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice penalty set ApiCallsPerKey k --for 10m --server http://127.0.0.1:8080",
      "  sluice penalty set ApiCallsPerKey k --owe 500 --server http://127.0.0.1:8080",
      "  sluice penalty remove ApiCallsPerKey k --server http://127.0.0.1:8080"
    },
    synopsisSubcommandLabel = "COMMAND")
final class PenaltyCommand implements Runnable {

  private static final String PATH = "/v1/admin/penalties";

  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public void run() {
    throw new ParameterException(
        spec.commandLine(), "found no command, expected one of: set, remove, list");
  }

  /** How long a penalty holds: one of the three. */
  static final class Length {

    @Option(
        names = "--until",
        required = true,
        paramLabel = "TIME",
        description = "Until a time such as 2026-11-22T12:00:00Z.")
    private @Nullable String until;

    @Option(
        names = "--for",
        required = true,
        paramLabel = "PERIOD",
        description = "For a while, such as 10m, 2h or 7d.")
    private @Nullable String time;

    @Option(
        names = "--owe",
        required = true,
        paramLabel = "N",
        description = "Until as many tokens have come; the bucket is empty then.")
    private @Nullable Long owe;
  }

  /** {@code sluice penalty set}. */
  @Command(
      name = "set",
      description = "Sets the penalty on one id, in place of one that is there, and prints it.",
      footerHeading = "%nExample:%n",
      footer = {
        "  sluice penalty set ApiCallsPerKey k --for 10m --comment 'Ticket 17' \\",
        "       --server http://127.0.0.1:8080 --token-file ops.token"
      })
  static final class SetOne implements Callable<Integer> {

    private final Console console;

    @Mixin private ServerOptions server = new ServerOptions();

    @Parameters(index = "0", paramLabel = "LIMIT", description = "The limit's name.")
    private String limit = "";

    @Parameters(index = "1", paramLabel = "ID", description = "The id, as a request has it.")
    private String id = "";

    @ArgGroup(multiplicity = "1")
    private Length length = new Length();

    @Option(names = "--comment", paramLabel = "TEXT", description = "A note for people.")
    private @Nullable String comment;

    SetOne(Console console) {
      this.console = console;
    }

    @Override
    public Integer call() {
      Map<String, Object> body = new LinkedHashMap<>();
      if (length.until != null) {
        body.put("until", length.until);
      }
      if (length.time != null) {
        body.put("for", length.time);
      }
      if (length.owe != null) {
        body.put("owe", length.owe);
      }
      if (comment != null) {
        body.put("comment", comment);
      }
      console.line(server.client().put(PATH, limit, id, body));
      return Exit.DONE;
    }
  }

  /** {@code sluice penalty remove}. */
  @Command(
      name = "remove",
      description = "Removes the penalty on one id; what is left of a debt is given back.",
      footerHeading = "%nExample:%n",
      footer = "  sluice penalty remove ApiCallsPerKey k --server http://127.0.0.1:8080")
  static final class RemoveOne implements Callable<Integer> {

    private final Console console;

    @Mixin private ServerOptions server = new ServerOptions();

    @Parameters(index = "0", paramLabel = "LIMIT", description = "The limit's name.")
    private String limit = "";

    @Parameters(index = "1", paramLabel = "ID", description = "The id, as a request has it.")
    private String id = "";

    RemoveOne(Console console) {
      this.console = console;
    }

    @Override
    public Integer call() {
      console.line(server.client().delete(PATH, limit, id));
      return Exit.DONE;
    }
  }

  /** {@code sluice penalty list}. */
  @Command(
      name = "list",
      description =
          "Prints the penalties of a running server, a JSON object a line, also those that have"
              + " ended of late.",
      footerHeading = "%nExample:%n",
      footer = "  sluice penalty list --server http://127.0.0.1:8080")
  static final class ListAll implements Callable<Integer> {

    private final Console console;

    @Mixin private ServerOptions server = new ServerOptions();

    @Option(
        names = "--limit",
        paramLabel = "LIMIT",
        description = "Those of one limit; of all limits, if not given.")
    private @Nullable String limit;

    ListAll(Console console) {
      this.console = console;
    }

    @Override
    public Integer call() {
      server.client().list(PATH, "penalties", limit, console::line);
      return Exit.DONE;
    }
  }
}
