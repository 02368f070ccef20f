// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Which override is meant; the same for every command on one. */
final class OverrideIdOptions {

  @Parameters(index = "0", paramLabel = "LIMIT", description = "The limit's name.")
  private String limit = "";

  @Parameters(
      index = "1",
      paramLabel = "ID",
      description = "The id with a quota of its own, as an override file writes it.")
  private String id = "";

  @Option(
      names = "--names",
      paramLabel = "FILE",
      description = "Limits of your own: number, name, id format, message.")
  private @Nullable Path names;

  Catalogue catalogue() {
    return KnownNames.catalogue(names);
  }

  String limit() {
    return limit;
  }

  /** The id that requests are counted under, in canonical form; refused if it is none. */
  String canonical(Catalogue catalogue, Strictness strictness) {
    IdFormat format = catalogue.get(limit).overrideId();
    return format.widened(format.canonical(id, strictness));
  }
}
