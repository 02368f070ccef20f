// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.server.StoreAccess;
import dev.sluice.server.Stores;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that give a store's passwords without showing them. */
final class StorePasswordOptions {

  private static final String STORE = "--store-password-file";
  private static final String SENTINEL = "--sentinel-password-file";

  @Option(
      names = STORE,
      paramLabel = "FILE",
      description =
          "A file with the store's password; or set SLUICE_STORE_PASSWORD. The user stands in the"
              + " address: redis://app@host.")
  private @Nullable Path store;

  @Option(
      names = SENTINEL,
      paramLabel = "FILE",
      description = "A file with the password of the Sentinels; or set SLUICE_SENTINEL_PASSWORD.")
  private @Nullable Path sentinel;

  /** The address, with the passwords for it. */
  StoreAccess access(String address) {
    StoreAccess access = StoreAccess.of(address);
    refuse(STORE, store, access.isMemory(), address);
    refuse(SENTINEL, sentinel, !access.isSentinel(), address);
    if (access.isMemory()) {
      return access;
    }
    access = access.withPassword(Passwords.of(STORE, store, "SLUICE_STORE_PASSWORD"));
    return access.isSentinel()
        ? access.withSentinelPassword(Passwords.of(SENTINEL, sentinel, "SLUICE_SENTINEL_PASSWORD"))
        : access;
  }

  /** A variable may be there for another command; an option is meant for this one. */
  private static void refuse(String option, @Nullable Path file, boolean useless, String address) {
    if (file != null && useless) {
      throw new InputException(
          "%s: the store %s takes no such password".formatted(option, Stores.shown(address)));
    }
  }
}
