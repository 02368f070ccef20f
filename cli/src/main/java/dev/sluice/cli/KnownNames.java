// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.limit.Catalogue;
import dev.sluice.server.service.ServerConfig.BundledNames;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** The names that a command knows: the bundled ones, and those of a file. */
final class KnownNames {

  private KnownNames() {}

  /** The names, with those that a file declares. */
  static Catalogue catalogue(@Nullable Path names) {
    if (names == null) {
      return BundledNames.catalogue();
    }
    InputFiles.require(names);
    return BundledNames.files().names(names).build().load().catalogue();
  }
}
