// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.server.access.Caller;
import dev.sluice.server.base.RefusedException;

/**
 * The words with which Redis refuses a client that it does not know, or that may not. Stateless.
 */
final class Refusals {

  private static final int UNAUTHORIZED = 401;
  private static final int FORBIDDEN = 403;

  private Refusals() {}

  static String code(RefusedException refused) {
    return switch (refused.status().code()) {
      case UNAUTHORIZED -> "NOAUTH";
      case FORBIDDEN -> "NOPERM";
      default -> "THROTTLED";
    };
  }

  static String text(RefusedException refused, Caller caller, Command command) {
    return switch (refused.status().code()) {
      case UNAUTHORIZED -> "Authentication required.";
      case FORBIDDEN ->
          "User %s has no permissions to run the '%s' command: %s"
              .formatted(caller.name(), command.lowerCaseName(), refused.detail());
      default -> "%s; retry after %s s".formatted(refused.detail(), refused.retryAfterSeconds());
    };
  }
}
