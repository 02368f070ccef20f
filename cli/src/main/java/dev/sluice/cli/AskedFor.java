// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.limit.Requirement;
import dev.sluice.limit.Requirement.MissingDefault;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Option;

/** The option that names the limits that must not be missing; the same for every command. */
final class AskedFor {

  @Option(
      names = "--for",
      paramLabel = "NAME",
      split = ",",
      description =
          "A limit that clients ask for: a mistake where it has neither a default nor an override;"
              + " may be repeated.")
  private List<String> names = new ArrayList<>();

  List<Requirement> requirements(MissingDefault onMissing) {
    return names.stream().map(name -> new Requirement(name, "--for", onMissing)).toList();
  }
}
