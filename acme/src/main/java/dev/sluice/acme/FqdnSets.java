// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collection;
import java.util.HexFormat;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** The hash of a set of identifiers: the same for every order and every repetition. Pure. */
final class FqdnSets {

  private FqdnSets() {}

  /** SHA-256, in hex, of the identifiers in order, joined with ",". */
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
