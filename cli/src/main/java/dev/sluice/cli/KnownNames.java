package dev.sluice.cli;

import dev.sluice.acme.AcmeLimits;
import dev.sluice.limit.Catalogue;
import dev.sluice.yaml.LimitFiles;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The names that every command knows: the nine of ACME always, the samples as long as no file
 * declares names.
 */
final class KnownNames {

  private KnownNames() {}

  /** Limit files that may use these names, and their id formats. */
  static LimitFiles.Builder files() {
    return LimitFiles.builder()
        .catalogue(AcmeLimits.bundled().catalogue())
        .samples(Catalogue.samples())
        .idFormats(AcmeLimits.bundled().idFormats());
  }

  /** The names, with those that a file declares. */
  static Catalogue catalogue(@Nullable Path names) {
    if (names == null) {
      return AcmeLimits.bundled().catalogue().plus(Catalogue.samples());
    }
    InputFiles.require(names);
    return files().names(names).build().load().catalogue();
  }
}
