// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.server.service.StoreAccess;
import dev.sluice.server.service.StoreAccess.Stores;
import java.nio.file.Path;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that give a store's passwords without showing them. */
final class StorePasswordOptions {

  private static final String STORE = "--store-password-file";
  private static final String SENTINEL = "--sentinel-password-file";
  private static final String STORE_VARIABLE = "SLUICE_STORE_PASSWORD";
  private static final String SENTINEL_VARIABLE = "SLUICE_SENTINEL_PASSWORD";

  /** Stands for the password in a file that a check must not read. */
  private static final String UNREAD = "unread";

  @Option(
      names = STORE,
      paramLabel = "FILE",
      description =
          "A file with the store's password; or set SLUICE_STORE_PASSWORD. The user is part of the address: redis://app@host.")
  private @Nullable Path store;

  @Option(
      names = SENTINEL,
      paramLabel = "FILE",
      description = "A file with the password of the Sentinels; or set SLUICE_SENTINEL_PASSWORD.")
  private @Nullable Path sentinel;

  boolean none() {
    return store == null && sentinel == null;
  }

  /** Returns the store's address with the passwords from files and variables. */
  StoreAccess access(String address) {
    return access(
        address,
        () -> InputFiles.secret(STORE, store, STORE_VARIABLE),
        () -> InputFiles.secret(SENTINEL, sentinel, SENTINEL_VARIABLE));
  }

  /** Requires that address and passwords fit together. Reads no file. */
  boolean requireUsable(String address, Map<String, String> environment) {
    StoreAccess access =
        access(
            address,
            () -> store == null ? environment.get(STORE_VARIABLE) : UNREAD,
            () -> sentinel == null ? environment.get(SENTINEL_VARIABLE) : UNREAD);
    try {
      Stores.requireUsable(access);
    } catch (IllegalArgumentException e) {
      throw new InputException("--store: " + e.getMessage());
    }
    return true;
  }

  private StoreAccess access(
      String address,
      Supplier<@Nullable String> password,
      Supplier<@Nullable String> sentinelPassword) {
    StoreAccess access = StoreAccess.of(address);
    refuse(STORE, store, access.isMemory(), address);
    refuse(SENTINEL, sentinel, !access.isSentinel(), address);
    if (access.isMemory()) {
      return access;
    }
    access = access.withPassword(emptyIsNone(password.get()));
    return access.isSentinel()
        ? access.withSentinelPassword(emptyIsNone(sentinelPassword.get()))
        : access;
  }

  private static @Nullable String emptyIsNone(@Nullable String password) {
    return password == null || password.isEmpty() ? null : password;
  }

  /**
   * Refuses an option whose password the store does not use. A variable is not refused, since it
   * may be set for another command.
   */
  private static void refuse(String option, @Nullable Path file, boolean useless, String address) {
    if (file != null && useless) {
      throw new InputException(
          "%s: the store %s does not use this password".formatted(option, Stores.shown(address)));
    }
  }
}
