// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collection;
import java.util.HexFormat;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Hashes sets of identifiers; order and repetitions do not change the hash. Stateless. */
final class FqdnSets {

  private FqdnSets() {}

  /** Returns the SHA-256, in hex, of the sorted identifiers, joined with ",". */
  static String hash(Collection<Identifier> identifiers) {
    String joined =
        new TreeSet<>(identifiers).stream().map(Identifier::value).collect(Collectors.joining(","));
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(joined.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }
}
