// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.acme.AcmeLimits;
import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.server.service.ServerConfig.BundledNames;
import dev.sluice.yaml.Problem;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice init}: writes a first limit file. */
@Command(
    name = "init",
    description = {
      "Writes a limit file with one limit.",
      "",
      "Asks for the limit's name, for the form of its ids, and for its quota. An option answers its"
          + " question in advance."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice init",
      "  sluice init --limit CallsPerCustomer --id string --allow 100/1m limits.yml"
    })
final class InitCommand extends ConsoleCommand {

  @Parameters(
      index = "0",
      arity = "0..1",
      paramLabel = "FILE",
      defaultValue = "limits.yml",
      description = "The file to write; it must not exist (${DEFAULT-VALUE}).")
  private Path file = Path.of("limits.yml");

  @Option(
      names = "--limit",
      paramLabel = "NAME",
      description = "The limit's name, such as LoginsPerIPAddress.")
  private @Nullable String limit;

  @Option(
      names = "--id",
      paramLabel = "FORMAT",
      description = "The form of the ids: ipAddress, string, domain, an integer id, …")
  private @Nullable String id;

  @Option(
      names = "--allow",
      paramLabel = "QUOTA",
      description = "The quota of each id: COUNT/PERIOD, or COUNT/PERIOD,burst=BURST.")
  private @Nullable String allow;

  @Override
  public Integer call() throws IOException {
    if (Files.exists(file)) {
      throw exists();
    }
    InputFiles.folder(String.valueOf(file), file);
    BufferedReader answers =
        new BufferedReader(new InputStreamReader(console.in(), StandardCharsets.UTF_8));
    Catalogue known = BundledNames.catalogue();
    String name =
        answer(
            "--limit",
            limit,
            "Name of the limit",
            "LoginsPerIPAddress",
            answers,
            InitCommand::name);
    boolean isKnown = known.names().stream().anyMatch(one -> one.name().equals(name));
    String format =
        isKnown
            ? known.get(name).id().name()
            : answer(
                "--id",
                id,
                "Form of the ids (ipAddress, string, …)",
                "string",
                answers,
                text -> AcmeLimits.bundled().idFormats().parse(text).name());
    if (isKnown && id != null && !id.equals(format)) {
      throw new InputException(
          "--id: found %s, but the ids of %s have the form %s; leave out --id"
              .formatted(SafeText.quote(id), name, format));
    }
    Quota quota = answer("--allow", allow, "Quota of each id", "10/1m", answers, Quantities::quota);
    String text =
        "%s:%n%s  burst: %s%n  count: %s%n  period: %s%n"
            .formatted(
                name,
                isKnown ? "" : "  id: " + format + "\n",
                quota.burst(),
                quota.count(),
                Quantities.brief(quota.period()))
            .replace("\r", "");
    write(text);
    console.line("%s: written. To try it:".formatted(file));
    console.line("  sluice serve --limits " + file);
    console.line("  sluice spend %s ID --server %s".formatted(name, DoorOptions.USUAL_SERVER));
    return Exit.DONE;
  }

  /** Writes the file, unless {@code sluice lint} would report a problem in it. */
  private void write(String text) throws IOException {
    try {
      Files.writeString(file, text, StandardOpenOption.CREATE_NEW);
    } catch (FileAlreadyExistsException e) {
      throw exists();
    } catch (IOException e) {
      throw new InputException("%s: can't be written: %s".formatted(file, e));
    }
    List<Problem> problems = BundledNames.files().defaults(file).build().lint();
    if (!problems.isEmpty()) {
      Files.delete(file);
      throw new InputException(
          problems.stream().map(Problem::toString).toList(), file + ": not written");
    }
  }

  private InputException exists() {
    return new InputException(
        file + ": exists already; name another file, or add the limit to this one");
  }

  private static String name(String text) {
    return LimitName.builder(text).build().name();
  }

  /**
   * Returns the value of an option, or the user's answer to its question. After a wrong answer the
   * question is repeated; an empty answer means the default.
   */
  private <T> T answer(
      String option,
      @Nullable String given,
      String question,
      String usual,
      BufferedReader answers,
      Function<String, T> parse)
      throws IOException {
    if (given != null) {
      try {
        return parse.apply(given);
      } catch (IllegalArgumentException e) {
        throw new InputException(option + ": " + e.getMessage());
      }
    }
    while (true) {
      console.err().printf("%s [%s]: ", question, usual);
      console.err().flush();
      String line = answers.readLine();
      if (line == null) {
        console.err().println();
        throw new InputException("the answer is missing; give " + option);
      }
      try {
        return parse.apply(line.isBlank() ? usual : line.strip());
      } catch (IllegalArgumentException e) {
        console.err().println(e.getMessage());
      }
    }
  }
}
