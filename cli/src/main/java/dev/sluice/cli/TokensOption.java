// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The option that names a file of tokens, for a command that only checks it. */
final class TokensOption {

  @Option(
      names = "--tokens",
      paramLabel = "FILE",
      description = "Tokens and names of certificates, with what each may do.")
  private @Nullable Path tokens;

  @Nullable Path file() {
    return tokens;
  }

  void set(Path file) {
    this.tokens = file;
  }
}
