// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.access;

import org.jspecify.annotations.Nullable;

/** The permission that an endpoint or a command needs. */
public enum Need {
  /** Open to all: it tells nothing of limits, and changes nothing. */
  NOTHING(null, "nothing"),
  /** A token or a certificate that the server knows, with any role. */
  A_NAME(null, "any role"),
  /** The role {@code decide}. */
  DECIDE(Role.DECIDE, "decide"),
  /** The role {@code read}. */
  READ(Role.READ, "read"),
  /** The role {@code admin}. */
  ADMIN(Role.ADMIN, "admin");

  private final @Nullable Role role;
  private final String word;

  Need(@Nullable Role role, String word) {
    this.role = role;
    this.word = word;
  }

  @Nullable Role role() {
    return role;
  }

  String word() {
    return word;
  }
}
