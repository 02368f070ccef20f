// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

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
  static final class SetOne implements Callable<Integer> {

    private final Console console;

    @Mixin private ServerOptions server = new ServerOptions();

    @Parameters(index = "0", paramLabel = "LIMIT", description = "The limit's name.")
    private String limit = "";

    @Parameters(
        index = "1",
        paramLabel = "ID",
        description = "The id, as a file of overrides has it.")
    private String id = "";

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
    private @Nullable String comment;

    SetOne(Console console) {
      this.console = console;
    }

    @Override
    public Integer call() {
      Map<String, Object> body = new LinkedHashMap<>();
      body.put("burst", burst);
      body.put("count", count);
      body.put("period", period);
      if (comment != null) {
        body.put("comment", comment);
      }
      console.line(server.client().put(PATH, limit, id, body));
      return Exit.DONE;
    }
  }

  /** {@code sluice overrides remove}. */
  @Command(
      name = "remove",
      description = "Removes the override of one id that was set on a running server.",
      footerHeading = "%nExample:%n",
      footer = "  sluice overrides remove ApiCallsPerKey k --server http://127.0.0.1:8080")
  static final class RemoveOne implements Callable<Integer> {

    private final Console console;

    @Mixin private ServerOptions server = new ServerOptions();

    @Parameters(index = "0", paramLabel = "LIMIT", description = "The limit's name.")
    private String limit = "";

    @Parameters(
        index = "1",
        paramLabel = "ID",
        description = "The id, as a file of overrides has it.")
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

  /** {@code sluice overrides list}. */
  @Command(
      name = "list",
      description =
          "Prints the overrides that are in force on a running server, a JSON object a line.",
      footerHeading = "%nExample:%n",
      footer = "  sluice overrides list --limit ApiCallsPerKey --server http://127.0.0.1:8080")
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
      server.client().list(PATH, "overrides", limit, console::line);
      return Exit.DONE;
    }
  }
}
