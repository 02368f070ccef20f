// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import dev.sluice.LimiterObserver.Act;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The permission that an endpoint or a command needs. */
public enum Permission {
  /** No permission, for requests that reveal no limits and change nothing. */
  NOTHING(null),
  /** A token or a certificate that the server knows, with any role. */
  A_NAME(null),
  DECIDE(Role.DECIDE),
  READ(Role.READ),
  ADMIN(Role.ADMIN);

  private final @Nullable Role role;

  Permission(@Nullable Role role) {
    this.role = role;
  }

  @Nullable Role role() {
    return role;
  }

  /**
   * Returns the permission that an operation needs over any protocol. Each operation of a stream or
   * a batch must be checked, since the operations can need different permissions.
   */
  public static Permission ofAct(Act act) {
    return act == Act.REFUND || act == Act.RESET ? ADMIN : DECIDE;
  }

  /** A permission of a caller; no role includes another. */
  enum Role {
    /** Requests decisions over any protocol: check, spend, reserve and cancel. */
    DECIDE,
    /** Reads limits, buckets, overrides, penalties and metrics, and changes nothing. */
    READ,
    /** Resets buckets, refunds manually, changes overrides and penalties, and reloads files. */
    ADMIN;

    /** Returns the role's name in files and messages, such as {@code decide}. */
    String word() {
      return name().toLowerCase(Locale.ROOT);
    }

    static @Nullable Role of(String word) {
      return Stream.of(values()).filter(role -> role.word().equals(word)).findFirst().orElse(null);
    }

    static List<String> words() {
      return Stream.of(values()).map(Role::word).toList();
    }
  }
}
