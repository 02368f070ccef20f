// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import dev.sluice.FailureRule;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.service.ServerConfig;
import dev.sluice.server.service.ServerConfig.Storage;
import dev.sluice.server.service.StoreAccess;
import dev.sluice.server.service.StoreAccess.Stores;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options for the buckets: the store, and the failure rules. */
final class StorageOptions {

  static final String USUAL_SNAPSHOT_INTERVAL = "1m";

  static final String TOKEN_KEY = "--token-key-file";
  private static final String AT_LEAST = "--local-at-least";
  private static final String AUTO = "local:auto";

  @Option(
      names = "--store",
      paramLabel = "STORE",
      defaultValue = Stores.MEMORY,
      description =
          "The store of the buckets: memory (if not given), redis://host:port/db,"
              + " postgresql://host/db or mariadb://host/db. docs/stores.md describes the store's"
              + " options, such as ?timeout=200ms.")
  private String store = Stores.MEMORY;

  @Mixin private StorePasswordOptions passwords = new StorePasswordOptions();

  @Option(
      names = "--snapshot",
      paramLabel = "FILE",
      description =
          "Keep the memory store's buckets across restarts, in this file. The file is read at the"
              + " start, and saved periodically and at shutdown. A crash loses the charges since"
              + " the last save.")
  private @Nullable Path snapshot;

  @Option(
      names = "--snapshot-interval",
      paramLabel = "PERIOD",
      description = "How often to save the file of --snapshot (" + USUAL_SNAPSHOT_INTERVAL + ").")
  private @Nullable String snapshotInterval;

  @Option(
      names = TOKEN_KEY,
      paramLabel = "FILE",
      description =
          "A file with the secret that signs the tokens of reservations, 32 bytes or more; or set"
              + " SLUICE_TOKEN_KEY. All servers of a fleet need the same secret. Without a secret, a server accepts only its own tokens, until it stops.")
  private @Nullable Path tokenKey;

  @Option(
      names = "--ready-without-store",
      description =
          "Report ready before the store's first reply, if the rule of --on-failure can decide"
              + " without the store. If not given, a server waits for this reply.")
  private boolean readyWithoutStore;

  @Option(
      names = "--on-failure",
      paramLabel = "[LIMIT=]RULE",
      split = ",",
      description = {
        "The outcome of a check or spend when the store can't decide: fail (an error, the default), allow, deny, local:N (decided in memory with a share of 1/N of the limit, for N"
            + " processes), or local:auto[,N] (N is the number of servers seen in the store; a server that"
            + " has not seen them denies, or uses N).",
        "LIMIT= before a rule restricts the rule to that limit. Repeatable."
      })
  private List<String> onFailure = List.of();

  @Option(names = AT_LEAST, paramLabel = "N", description = "The smallest N for local:auto (1).")
  private @Nullable String localAtLeast;

  String shown() {
    return Stores.shown(store);
  }

  /** Returns the settings. Reads files with secrets. */
  Storage storage() {
    Map<String, FailureRule> byLimit = rules();
    FailureRule others = byLimit.remove("");
    return new Storage(
        access(),
        snapshot(),
        tokenKey(),
        others == null ? FailureRule.fail() : others,
        byLimit,
        localAtLeast(),
        readyWithoutStore);
  }

  /**
   * Returns the checks of these options. Each returned check throws if an option has a wrong value,
   * and reads no file.
   */
  List<Supplier<?>> each(Map<String, String> environment) {
    List<Supplier<?>> checks = new ArrayList<>(eachRule());
    checks.addAll(
        List.<Supplier<?>>of(
            () -> Optional.ofNullable(snapshot()),
            this::rules,
            this::localAtLeast,
            () -> passwords.requireUsable(store, environment)));
    return checks;
  }

  StoreAccess access() {
    return passwords.access(store);
  }

  /** Returns the key that signs reservation tokens; a random key if no key is given. */
  TokenKey tokenKey() {
    String secret = InputFiles.secret(TOKEN_KEY, tokenKey, "SLUICE_TOKEN_KEY");
    try {
      return secret == null
          ? TokenKey.random()
          : TokenKey.of(secret.getBytes(StandardCharsets.UTF_8));
    } catch (IllegalArgumentException e) {
      throw new InputException(
          "%s: %s".formatted(tokenKey == null ? "SLUICE_TOKEN_KEY" : TOKEN_KEY, e.getMessage()));
    }
  }

  private ServerConfig.@Nullable Snapshot snapshot() {
    String period = snapshotInterval == null ? USUAL_SNAPSHOT_INTERVAL : snapshotInterval;
    Duration every = Quantities.positive("--snapshot-interval", period);
    if (snapshot == null) {
      if (snapshotInterval != null) {
        throw new InputException("--snapshot-interval requires --snapshot FILE");
      }
      return null;
    }
    if (!store.equals(Stores.MEMORY)) {
      throw new InputException(
          "--snapshot works with the memory store only; %s persists its own buckets"
              .formatted(Stores.shown(store)));
    }
    return new ServerConfig.Snapshot(snapshot, every);
  }

  List<Requirement> requirements(MissingDefault onMissing) {
    return onFailure().stream()
        .filter(option -> option.indexOf('=') > 0)
        .map(option -> option.substring(0, option.indexOf('=')))
        .distinct()
        .map(limit -> new Requirement(limit, "--on-failure", onMissing))
        .toList();
  }

  private int localAtLeast() {
    if (localAtLeast == null) {
      return 1;
    }
    if (!localAtLeast.matches("[1-9][0-9]{0,5}")) {
      throw new InputException(
          "%s: found \"%s\", expected the number of servers, such as 2"
              .formatted(AT_LEAST, localAtLeast));
    }
    if (rules().values().stream().noneMatch(FailureRule::isAuto)) {
      throw new InputException(AT_LEAST + " requires --on-failure local:auto");
    }
    return Integer.parseInt(localAtLeast);
  }

  /**
   * Returns the values of {@code --on-failure}. The value {@code local:auto,N} was split at its
   * comma, so this method joins the two parts again.
   */
  private List<String> onFailure() {
    List<String> whole = new ArrayList<>();
    for (String option : onFailure) {
      int last = whole.size() - 1;
      if (last >= 0 && whole.get(last).endsWith(AUTO) && option.matches("[0-9]+")) {
        whole.set(last, whole.get(last) + "," + option);
      } else {
        whole.add(option);
      }
    }
    return whole;
  }

  private List<Supplier<?>> eachRule() {
    return onFailure().stream().<Supplier<?>>map(option -> () -> rule(option)).toList();
  }

  /**
   * Returns the failure rules by the limit's name; the empty name means all other limits.
   *
   * @throws InputException if a rule is not valid, or a limit has two rules
   */
  private Map<String, FailureRule> rules() {
    Map<String, FailureRule> rules = new LinkedHashMap<>();
    for (String option : onFailure()) {
      int equals = option.indexOf('=');
      String limit = equals < 0 ? "" : option.substring(0, equals);
      if (rules.put(limit, rule(option)) != null) {
        throw new InputException(
            "--on-failure: found %s twice, expected one rule"
                .formatted(limit.isEmpty() ? "a rule for all limits" : limit));
      }
    }
    return rules;
  }

  private static FailureRule rule(String option) {
    int equals = option.indexOf('=');
    try {
      return FailureRule.parse(option.substring(equals + 1));
    } catch (IllegalArgumentException e) {
      String which = equals < 0 ? "" : "\"%s\": ".formatted(option);
      throw new InputException(
          "--on-failure: %s%s; for one limit, begin with its name, such as LoginsPerIPAddress=deny"
              .formatted(which, e.getMessage()));
    }
  }

  /** The options that give a store's passwords without showing them. */
  static final class StorePasswordOptions {

    private static final String STORE = "--store-password-file";
    private static final String SENTINEL = "--sentinel-password-file";
    private static final String STORE_VARIABLE = "SLUICE_STORE_PASSWORD";
    private static final String SENTINEL_VARIABLE = "SLUICE_SENTINEL_PASSWORD";

    /** A dummy password for checks of options, since these checks must not read password files. */
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

    StoreAccess access(String address) {
      return access(
          address,
          () -> InputFiles.secret(STORE, store, STORE_VARIABLE),
          () -> InputFiles.secret(SENTINEL, sentinel, SENTINEL_VARIABLE));
    }

    /** Requires that the store can use the address and the passwords. Reads no file. */
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
     * Rejects an option whose password the store does not use. An environment variable is not
     * rejected, since it can be meant for another command.
     */
    private static void refuse(
        String option, @Nullable Path file, boolean useless, String address) {
      if (file != null && useless) {
        throw new InputException(
            "%s: the store %s does not use this password".formatted(option, Stores.shown(address)));
      }
    }
  }
}
