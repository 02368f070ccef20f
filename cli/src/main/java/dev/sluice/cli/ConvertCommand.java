// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Console.ConsoleCommand;
import dev.sluice.cli.Exit.ExitException;
import dev.sluice.internal.text.SafeText;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.convert.Conversion;
import dev.sluice.server.service.ServerConfig.BundledNames;
import dev.sluice.yaml.LimitFiles;
import dev.sluice.yaml.LimitFilesException;
import dev.sluice.yaml.Problem;
import dev.sluice.yaml.Severity;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice convert}: converts another rate limiter's configuration to Sluice files. */
@Command(
    name = "convert",
    description = {
      "Converts another rate limiter's configuration to limits, overrides and rules.",
      "",
      "Several files are converted together. Files of one domain are merged in the given order. Each"
          + " file in the data of a Kubernetes ConfigMap is read too. If two domains have a limit of"
          + " the same name, its name gets the domain as a prefix.",
      "",
      "Each line that cannot be converted is left out, and reported as file:line:column: message. A"
          + " limit whose name must change is reported as a note, and its rule is kept."
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:the whole configuration was converted",
      "1:some lines cannot be converted, or a file has mistakes (then no file is written)",
      "2:a file can't be read or written"
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice convert envoy-ratelimit config.yaml --out converted",
      "  sluice convert envoy-ratelimit config/*.yaml --out converted",
      "  sluice lint --limits converted/limits.yml --rules converted/rules.yml"
    })
final class ConvertCommand extends ConsoleCommand {

  private static final String ENVOY_RATELIMIT = "envoy-ratelimit";

  @Parameters(
      index = "0",
      paramLabel = "FORMAT",
      description = "The format: envoy-ratelimit, for envoyproxy/ratelimit.")
  private String format = "";

  @Parameters(
      index = "1..*",
      arity = "1..*",
      paramLabel = "FILE",
      description = "The files of the configuration, in their order.")
  private List<Path> configs = List.of();

  @Option(
      names = "--out",
      paramLabel = "FOLDER",
      defaultValue = ".",
      description = "The folder for the new files; no file is replaced (${DEFAULT-VALUE}).")
  private Path out = Path.of(".");

  @Override
  public Integer call() {
    if (!format.equals(ENVOY_RATELIMIT)) {
      throw new InputException(
          "found the format %s, expected %s".formatted(SafeText.quote(format), ENVOY_RATELIMIT));
    }
    configs.forEach(InputFiles::require);
    Conversion conversion;
    try {
      conversion = Conversion.ofEnvoyRateLimit(configs);
    } catch (LimitFilesException e) {
      console.print(() -> e.problems().forEach(problem -> console.line(problem.toString())));
      return Exit.NO;
    }
    console.print(
        () -> {
          conversion.notExpressed().forEach(problem -> console.line(problem.toString()));
          conversion.renamed().forEach(renaming -> console.line(renaming.toString()));
        });
    write(conversion.files());
    requireLinted(conversion.files().keySet());
    return conversion.notExpressed().isEmpty() ? Exit.DONE : Exit.NO;
  }

  /** Lints the written files, since they can exceed a bound that only Sluice has. */
  private void requireLinted(Set<String> names) {
    LimitFiles.Builder files =
        BundledNames.files()
            .defaults(out.resolve("limits.yml"))
            .companion(out.resolve("rules.yml"), RuleBook.reader());
    if (names.contains("overrides.yml")) {
      files.overrides(out.resolve("overrides.yml"));
    }
    List<Problem> mistakes =
        files.build().lint().stream().filter(one -> one.severity() == Severity.MISTAKE).toList();
    if (!mistakes.isEmpty()) {
      console.print(() -> mistakes.forEach(mistake -> console.line(mistake.toString())));
      throw new ExitException(
          Exit.NO,
          "the written files have mistakes, so a server would refuse them; change the"
              + " configuration, and convert it again",
          null);
    }
  }

  private void write(Map<String, String> files) {
    if (Files.exists(out) && !Files.isDirectory(out)) {
      throw new InputException("--out: %s: found a file, expected a folder".formatted(out));
    }
    for (String name : files.keySet()) {
      if (Files.exists(out.resolve(name))) {
        throw new InputException(
            "%s exists already; choose another folder with --out".formatted(out.resolve(name)));
      }
    }
    for (Map.Entry<String, String> one : files.entrySet()) {
      Path target = out.resolve(one.getKey());
      try {
        Files.createDirectories(out);
        Files.writeString(target, one.getValue());
      } catch (IOException e) {
        throw new InputException("%s cannot be written: %s".formatted(target, e.getMessage()));
      }
      console.err().println("wrote " + target);
    }
  }
}
