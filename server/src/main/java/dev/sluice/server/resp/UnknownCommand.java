// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import java.util.Locale;

/** The words with which Redis refuses a command that it does not have. Stateless. */
final class UnknownCommand {

  private static final int SHOWN = 128;

  private UnknownCommand() {}

  static String error(Request request) {
    String name = shown(request, 0).toUpperCase(Locale.ROOT);
    if (name.equals("MULTI") || name.equals("EXEC")) {
      return name
          + ": there are no transactions, each command is executed at once; SLUICE.BATCH decides"
          + " several limits as one";
    }
    StringBuilder text = new StringBuilder("unknown command '");
    text.append(shown(request, 0)).append("', with args beginning with: ");
    int limit = text.length() + SHOWN;
    for (int i = 1; i < request.count() && text.length() < limit; i++) {
      text.append('\'').append(shown(request, i)).append("' ");
    }
    return text.toString();
  }

  /** The first characters of an argument. */
  static String shown(Request request, int index) {
    String text = request.text(index);
    return text.length() > SHOWN ? text.substring(0, SHOWN) : text;
  }
}
