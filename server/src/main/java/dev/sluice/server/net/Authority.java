// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.net;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a request names as its server: a host and perhaps a port (RFC 9110, section 7.2). Immutable.
 *
 * @param host in lower case, an IPv6 address in its brackets, without the dot that ends a full name
 */
record Authority(String host) {

  /** What a request that names no server is taken for; a name that nobody can own. */
  static final String MISSING = "no-host.invalid";

  private static final int LONGEST = 1 << 10;
  private static final Pattern FORM =
      Pattern.compile("(\\[[^\\[\\]]+\\]|[^\\[\\]:/?#@,\\s]+)(?::0*([0-9]{0,5}))?");
  private static final int LAST_PORT = 65_535;

  /** Returns null where the text is not an authority, or its port is not one. */
  static @Nullable Authority parse(String text) {
    Matcher parts = FORM.matcher(text);
    if (text.length() > LONGEST || !parts.matches() || !isPort(parts.group(2))) {
      return null;
    }
    String host = parts.group(1).toLowerCase(Locale.ROOT);
    return new Authority(host.endsWith(".") ? host.substring(0, host.length() - 1) : host);
  }

  /** An empty port stands for the scheme's own. */
  private static boolean isPort(@Nullable String digits) {
    return digits == null || digits.isEmpty() || Integer.parseInt(digits) <= LAST_PORT;
  }

  /** Whether a request named no server at all; the library adds the port. */
  static boolean isMissing(@Nullable String text) {
    return text == null || text.isEmpty() || text.startsWith(MISSING);
  }
}
