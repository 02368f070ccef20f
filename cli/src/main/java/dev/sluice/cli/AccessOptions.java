// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Quota;
import dev.sluice.lab.QuotaText;
import dev.sluice.server.service.ServerConfig;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of a server that say who may do what, and where changes are noted and kept. */
final class AccessOptions {

  private static final String UNLIMITED = "unlimited";
  private static final String WITH_TOKENS = "100/1s,burst=1000";

  @Option(
      names = "--tokens",
      paramLabel = "FILE",
      description =
          "The hashes of the tokens, and the names in certificates, of the clients that may ask,"
              + " with their roles. Everybody may do everything if not given.")
  private @Nullable Path tokens;

  @Option(
      names = "--audit-log",
      paramLabel = "FILE",
      description =
          "Append who has reset or refunded a bucket, changed an override or a penalty, reloaded,"
              + " or failed to authenticate, as JSON lines; - is standard error.")
  private @Nullable String auditLog;

  @Option(
      names = "--override-store",
      paramLabel = "FILE",
      description =
          "Keep overrides and penalties that are set while the server runs, in this file and in"
              + " FILE.penalties. They end with the server if not given.")
  private @Nullable Path overrideStore;

  @Option(
      names = "--requests-per-address",
      paramLabel = "QUOTA",
      description =
          "How many requests an address may send without a token or a certificate that --tokens"
              + " names: COUNT/PERIOD, COUNT/PERIOD,burst=BURST, or unlimited. With --tokens "
              + WITH_TOKENS
              + " if not given, otherwise unlimited. Health checks are not counted.")
  private @Nullable String requestsPerAddress;

  boolean hasTokens() {
    return tokens != null;
  }

  /** What a server makes of the options. */
  ServerConfig.Control control(boolean hasTable) {
    requireFiles();
    return settings(hasTable);
  }

  /** Looks whether the files are there that must be. */
  @CanIgnoreReturnValue
  boolean requireFiles() {
    return InputFiles.require("--tokens", tokens);
  }

  /** The same as {@link #control}, without a look at any file. */
  ServerConfig.Control settings(boolean hasTable) {
    if (overrideStore != null && hasTable) {
      throw new InputException(
          "--override-store and --overrides-db both keep overrides; give only one");
    }
    return new ServerConfig.Control(tokens, auditLog, overrideStore, perAddress());
  }

  /** What holds if the option is not given. */
  static String perAddress(boolean hasTokens) {
    return hasTokens ? WITH_TOKENS : UNLIMITED;
  }

  /** Without tokens, most clients are proxies, which send the requests of all their clients. */
  private @Nullable Quota perAddress() {
    String text = requestsPerAddress;
    if (text == null) {
      text = perAddress(hasTokens());
    }
    try {
      return text.equals(UNLIMITED) ? null : QuotaText.parse(text);
    } catch (IllegalArgumentException e) {
      throw new InputException("--requests-per-address: " + e.getMessage() + ", or " + UNLIMITED);
    }
  }
}
