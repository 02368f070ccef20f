// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.cli.ServerClientOptions.RequiredServer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice reload}: makes a running server read its files. */
@Command(
    name = "reload",
    description = {
      "Makes a running server read its files now, or shows what a reload would change.",
      "",
      "A server reads changed files within seconds by itself. With --limits-on-request, it reads"
          + " limit files and rules only at this command or SIGHUP. The command waits for the result."
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:all files were applied, or with --dry-run would be applied",
      "1:files have mistakes, or a rollback is in force",
      "2:the server refused the request",
      "3:the server sent no response"
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice reload --dry-run --server http://127.0.0.1:8080",
      "  sluice reload --server http://127.0.0.1:8080 --token-file ops.token"
    })
final class ReloadCommand extends ConsoleCommand {

  @Option(
      names = "--dry-run",
      description = "Only print each mistake and each change of the limit files.")
  private boolean dryRun;

  @Mixin private RequiredServer server = new RequiredServer();

  @Override
  public Integer call() {
    ServerClient.Reload answer = server.client(console).reload(dryRun);
    console.print(
        () -> {
          answer.changes().forEach(console::line);
          answer.mistakes().forEach(console::line);
        });
    boolean isMistaken = !answer.mistakes().isEmpty();
    if (isMistaken) {
      console
          .err()
          .println(
              "mistakes; limits, tokens or certificates with mistakes stay as they are; a reload"
                  + " applies only the others");
    }
    String said =
        answer.isPutBack() && !answer.applied()
            ? (dryRun || isMistaken ? "" : "not applied: ")
                + "a rollback is in force until changed files are applied"
            : isMistaken
                ? ""
                : !dryRun
                    ? answer.applied() ? "reloaded" : "not applied; the server's log has the cause"
                    : answer.changes().isEmpty() ? "a reload would change nothing" : "";
    if (!said.isEmpty()) {
      console.err().println(said);
    }
    if (!answer.effect().isEmpty()) {
      console.err().println(answer.effect());
    }
    return !isMistaken && (dryRun || answer.applied()) ? Exit.DONE : Exit.NO;
  }

  @Command(
      name = "rollback",
      description = {
        "Restores the limits, names, overrides of files, and rules of one of the last ten"
            + " generations, and prints what changed.",
        "",
        "The rollback ends when the server applies changed files, or restarts. Tokens,"
            + " certificates, and overrides and penalties set at run time do not change."
      },
      exitCodeListHeading = "%nExit codes:%n",
      exitCodeList = {"0:done", "2:no such generation, or a refused request", "3:no response"},
      footerHeading = "%nExamples:%n",
      footer = {
        "  sluice rollback --server http://127.0.0.1:8080",
        "  sluice rollback 3f1c09d2ab47 --server http://127.0.0.1:8080"
      })
  static final class RollbackCommand extends ConsoleCommand {

    @Parameters(
        arity = "0..1",
        paramLabel = "GENERATION",
        description =
            "The hash of the limits' generation to restore, as in GET /v1/limits. If not given, the"
                + " generation before the current one.")
    private @Nullable String generation;

    @Mixin private RequiredServer server = new RequiredServer();

    @Override
    public Integer call() {
      ServerClient.Reload answer = server.client(console).rollback(generation);
      answer.changes().forEach(console::line);
      console.flush();
      console
          .err()
          .printf(
              "generation %s is in force%s%n",
              answer.active(),
              answer.isPutBack() ? " until changed files are applied or the server restarts" : "");
      return Exit.DONE;
    }
  }
}
