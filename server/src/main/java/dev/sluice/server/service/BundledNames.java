// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.acme.AcmeLimits;
import dev.sluice.limit.Catalogue;
import dev.sluice.yaml.LimitFiles;

/**
 * The names that the server and every command know: Let's Encrypt's nine always, the samples unless
 * a file declares names. Stateless and thread-safe.
 */
public final class BundledNames {

  private BundledNames() {}

  /**
   * Returns a builder of limit files that may use these names and their id formats.
   *
   * @return a builder without files
   */
  public static LimitFiles.Builder files() {
    return LimitFiles.builder()
        .catalogue(AcmeLimits.bundled().catalogue())
        .samples(Catalogue.samples())
        .idFormats(AcmeLimits.bundled().idFormats());
  }

  /**
   * Returns all of these names, samples included.
   *
   * @return the names
   */
  public static Catalogue catalogue() {
    return AcmeLimits.bundled().catalogue().plus(Catalogue.samples());
  }
}
