// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** The token that a command shows to a server. Stateless. */
final class TokenFile {

  static final String OPTION = "--token-file";
  static final String DESCRIPTION =
      "A file with the token for a server with access control; or set SLUICE_TOKEN.";

  private TokenFile() {}

  /** Reads the token; null if there is neither a file nor a variable. */
  static @Nullable String read(@Nullable Path file) {
    return Passwords.of(OPTION, file, "SLUICE_TOKEN");
  }
}
