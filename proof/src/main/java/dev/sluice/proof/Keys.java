// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.HexFormat;

/**
 * The access tokens of a server.
 *
 * @param load a token with the role {@code decide}
 * @param operator a token with every role
 */
public record Keys(String load, String operator) {

  /** Empty access tokens, for a server without access control. */
  public static final Keys NONE = new Keys("", "");

  private static final int BYTES = 32;

  public static Keys fresh() {
    return new Keys(token(), token());
  }

  private static String token() {
    byte[] random = new byte[BYTES];
    new SecureRandom().nextBytes(random);
    return Base64.getUrlEncoder().withoutPadding().encodeToString(random);
  }

  /** Writes the file for {@code --tokens}. Returns the path of the token file. */
  String write(Folder folder) throws IOException {
    return folder.write(
        "tokens.yml",
        """
        tokens:
          - {name: load, sha256: %s, roles: [decide]}
          - {name: operator, sha256: %s, roles: [decide, read, admin]}
        """
            .formatted(sha256(load), sha256(operator)));
  }

  private static String sha256(String token) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      return HexFormat.of().formatHex(digest.digest(token.getBytes(StandardCharsets.US_ASCII)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JVM has SHA-256", e);
    }
  }
}
