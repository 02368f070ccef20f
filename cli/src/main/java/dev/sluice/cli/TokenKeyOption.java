// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.server.reservation.TokenKey;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The option that names the secret of the tokens of reservations. */
final class TokenKeyOption {

  private static final String TOKEN_KEY = "--token-key-file";

  @Option(
      names = TOKEN_KEY,
      paramLabel = "FILE",
      description =
          "A file with the secret that signs the tokens of reservations, 32 bytes or more; or set"
              + " SLUICE_TOKEN_KEY. All servers of a fleet need the same one. Without it the server"
              + " knows only its own tokens, until it ends.")
  private @Nullable Path tokenKey;

  /** Without a secret one of its own. */
  TokenKey tokenKey() {
    String secret = Passwords.of(TOKEN_KEY, tokenKey, "SLUICE_TOKEN_KEY");
    try {
      return secret == null
          ? TokenKey.random()
          : TokenKey.of(secret.getBytes(StandardCharsets.UTF_8));
    } catch (IllegalArgumentException e) {
      throw new InputException(
          "%s: %s".formatted(tokenKey == null ? "SLUICE_TOKEN_KEY" : TOKEN_KEY, e.getMessage()));
    }
  }
}
