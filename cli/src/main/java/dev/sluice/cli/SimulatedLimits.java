// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.gcra.Quota;
import dev.sluice.lab.QuotaText;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.service.ServerConfig.BundledNames;
import dev.sluice.server.service.ServerConfig.SampleLimits;
import dev.sluice.text.Suggestion;
import dev.sluice.yaml.LimitFiles;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The limits that are simulated: as they are typed, or by their names in a limit file. */
final class SimulatedLimits {

  private static final String USUAL = "100/1h";

  @Option(
      names = "--limit",
      paramLabel = "LIMIT",
      description =
          "COUNT/PERIOD such as 100/1h or 100/1h,burst=20, or the name of a limit in --limits;"
              + " several times for several limits. If not given: "
              + USUAL
              + ".")
  private List<String> limits = List.of();

  @Option(
      names = "--limits",
      paramLabel = "FILE",
      description = "Where limits with names are looked up; if not given, in the samples.")
  private @Nullable Path file;

  @Option(
      names = "--names",
      paramLabel = "FILE",
      description = "Declares names: number, id format, message.")
  private @Nullable Path names;

  /** At least one. */
  List<Quota> quotas() {
    List<String> texts = limits.isEmpty() ? List.of(USUAL) : limits;
    boolean named = !texts.stream().allMatch(QuotaText::isMeant);
    requireNoFileForNothing(named);
    Limits known = named ? known() : null;
    return texts.stream().map(text -> quota(text, known)).toList();
  }

  /** A file that nothing is taken from is a slip. */
  private void requireNoFileForNothing(boolean named) {
    if (file != null && !named) {
      throw new InputException(
          "--limits: no --limit names a limit of "
              + file
              + ", expected one such as --limit LoginsPerIPAddress");
    }
    if (names != null && file == null) {
      throw new InputException("--names requires --limits, the file whose names these are");
    }
  }

  private static Quota quota(String text, @Nullable Limits known) {
    if (known == null || QuotaText.isMeant(text)) {
      try {
        return QuotaText.parse(text);
      } catch (IllegalArgumentException e) {
        throw new InputException("--limit: " + e.getMessage());
      }
    }
    LimitName name = known.catalogue().find(text);
    Quota quota = name == null ? null : known.defaultFor(name);
    if (quota == null) {
      List<String> named =
          known.catalogue().names().stream()
              .filter(one -> known.defaultFor(one) != null)
              .map(LimitName::name)
              .toList();
      throw new InputException(
          "--limit: found \"%s\", expected the name of a limit with a default, or COUNT/PERIOD"
                  .formatted(text)
              + " such as 100/1h"
              + Suggestion.didYouMean(text, named));
    }
    return quota;
  }

  private Limits known() {
    if (file == null) {
      return SampleLimits.make();
    }
    InputFiles.require(file);
    LimitFiles.Builder files = BundledNames.files().defaults(file);
    if (names != null) {
      InputFiles.require(names);
      files.names(names);
    }
    return files.build().load();
  }
}
