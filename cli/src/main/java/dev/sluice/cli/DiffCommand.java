// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.cli.LimitFileOptions.RulesOption;
import dev.sluice.cli.LimitFileOptions.TokensOption;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.Limits;
import dev.sluice.server.admin.LimitsDiff;
import dev.sluice.yaml.LimitFilesException;
import dev.sluice.yaml.Problem;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice diff}: prints the differences between two sets of limit files. */
@Command(
    name = "diff",
    description = {
      "Prints each limit, override and rule that differs between two files, or between the YAML"
          + " files of two folders. Comments, layout, access tokens and configurations of sluice"
          + " serve are not compared."
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:compared",
      "1:the files differ (with --exit-code)",
      "2:a file has mistakes, or can't be read"
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice diff limits.yml.old limits.yml",
      "  sluice diff --exit-code /etc/sluice new/"
    })
final class DiffCommand extends ConsoleCommand {

  @Parameters(index = "0", paramLabel = "OLD", description = "The old file or folder.")
  private Path before = Path.of("");

  @Parameters(index = "1", paramLabel = "NEW", description = "The new file or folder.")
  private Path after = Path.of("");

  @Option(names = "--exit-code", description = "Exit with 1 if there are differences.")
  private boolean exitCode;

  @Override
  public Integer call() {
    List<Problem> mistakes = new ArrayList<>();
    Limits old = load(before, mistakes);
    Limits now = load(after, mistakes);
    if (old == null || now == null) {
      throw new LimitFilesException(mistakes);
    }
    List<String> changes = LimitsDiff.between(old, now);
    console.print(() -> changes.forEach(console::line));
    if (changes.isEmpty()) {
      console.err().println("no differences");
    }
    return exitCode && !changes.isEmpty() ? Exit.NO : Exit.DONE;
  }

  /**
   * Returns the limits; if the files have mistakes, adds them to {@code mistakes} and returns null.
   */
  private static @Nullable Limits load(Path given, List<Problem> mistakes) {
    LimitFileOptions files = new LimitFileOptions();
    RulesOption rules = new RulesOption();
    TokensOption tokens = new TokensOption();
    boolean isFolder = Files.isDirectory(given);
    for (Path file : isFolder ? yamlOf(given) : List.of(given)) {
      if (!isFolder || !LimitFileOptions.isOfServer(file)) {
        files.add(file, rules, tokens);
      }
    }
    if (files.limits() == null && (files.overrides() == null || rules.file() != null)) {
      throw new InputException(
          "%s: found no limits; %s"
              .formatted(
                  given,
                  rules.file() != null
                      ? "to compare rules, give files or folders that also contain the limits"
                      : files.names() == null
                          ? "access tokens and configurations of sluice serve are not compared"
                          : "to compare names, give folders that also contain the limits, or run: sluice lint NEW --against OLD"));
    }
    try {
      return files.files(Strictness.LENIENT, List.of(), rules).load();
    } catch (LimitFilesException e) {
      mistakes.addAll(e.problems());
      return null;
    }
  }

  private static List<Path> yamlOf(Path folder) {
    List<Path> found = new ArrayList<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "[!.]*.{yml,yaml}")) {
      files.forEach(found::add);
    } catch (IOException e) {
      throw new InputException(folder + ": can't be read: " + e.getMessage());
    }
    if (found.isEmpty()) {
      throw new InputException(folder + ": found no file that ends in .yml or .yaml");
    }
    found.sort(null);
    return found;
  }
}
