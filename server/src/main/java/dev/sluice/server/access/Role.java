// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A permission of a caller. No role contains another one: a caller has those that its line names.
 */
enum Role {
  /** Asks for decisions: check, spend, reserve and cancel, on every door. */
  DECIDE,
  /** Sees limits, buckets, overrides, penalties and metrics, and changes nothing. */
  READ,
  /** Resets and refunds by hand, changes overrides and penalties, and reloads. */
  ADMIN;

  /** Returns the word for the role in files and messages, such as {@code decide}. */
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
