// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.cli.Exit.ExitException;
import dev.sluice.internal.text.SafeText;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.convert.Conversion;
import dev.sluice.rules.convert.Conversion.Renaming;
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
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code sluice convert}: converts another rate limiter's configuration to Sluice files. */
@Command(
    name = "convert",
    description = {
      "Turns the configuration of another rate limiter into limits, overrides and rules.",
      "",
      "Several files become one set. Files of one domain are merged in the given order. A ConfigMap"
          + " of Kubernetes counts as the files in its data. A limit's name that two domains have gets the domain in front of it.",
      "",
      "Each line that cannot be converted is reported as file:line:column: message, and left out."
          + " A limit that gets another name is reported as a note, and its rule is kept."
    },
    exitCodeListHeading = "%nExit codes:%n",
    exitCodeList = {
      "0:all of it was converted",
      "1:some of it cannot be expressed, or it has mistakes; with mistakes nothing is written",
      "2:a file can't be read or written"
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  sluice convert envoy-ratelimit config.yaml --out converted",
      "  sluice convert envoy-ratelimit config/*.yaml --out converted",
      "  sluice lint --limits converted/limits.yml --rules converted/rules.yml"
    })
final class ConvertCommand implements Callable<Integer> {

  private static final String ENVOY_RATELIMIT = "envoy-ratelimit";

  private final Console console;

  @Parameters(
      index = "0",
      paramLabel = "FORMAT",
      description = "envoy-ratelimit: files of envoyproxy/ratelimit.")
  private String format = "";

  @Parameters(
      index = "1..*",
      arity = "1..*",
      paramLabel = "FILE",
      description = "The configuration: its files, in their order.")
  private List<Path> configs = List.of();

  @Option(
      names = "--out",
      paramLabel = "FOLDER",
      defaultValue = ".",
      description = "Where the files are written; none is replaced (${DEFAULT-VALUE}).")
  private Path out = Path.of(".");

  ConvertCommand(Console console) {
    this.console = console;
  }

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
      e.problems().forEach(problem -> console.line(problem.toString()));
      return Exit.NO;
    }
    for (Problem problem : conversion.notExpressed()) {
      console.line(problem.toString());
    }
    for (Renaming renaming : conversion.renamed()) {
      console.line(renaming.toString());
    }
    console.flush();
    write(conversion.files());
    requireLinted(conversion.files().keySet());
    return conversion.notExpressed().isEmpty() ? Exit.DONE : Exit.NO;
  }

  /** Lints the written files: they may exceed bounds of Sluice that the other limiter lacks. */
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
      mistakes.forEach(mistake -> console.line(mistake.toString()));
      throw new ExitException(
          Exit.NO,
          "the files that were written have mistakes, and a server refuses them; change the"
              + " configuration, and convert it again",
          null);
    }
  }

  private void write(Map<String, String> files) {
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
