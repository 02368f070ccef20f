// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.IpAddress;
import java.util.regex.Pattern;

/** The format of the value of an ACME identifier: a domain, or an IP address. */
record IdentValueFormat(DomainFormat domain) implements IdFormat {

  /** Matches texts that look like IPv6 addresses: groups of any length, and perhaps a zone. */
  private static final Pattern LIKE_IPV6 = Pattern.compile("[0-9a-fA-F.]*:[0-9a-fA-F:.]*(%.*)?");

  @Override
  public String name() {
    return "identValue";
  }

  @Override
  public String canonical(String text, Strictness strictness) {
    IdFormat.requireLength(text, "a domain or an IP address");
    return isAddress(text)
        ? IdFormat.ipAddress().canonical(text, strictness)
        : domain.canonical(text, strictness);
  }

  /**
   * Whether a text is an IP address, or looks so much like one that its mistake is reported as one.
   */
  static boolean isAddress(String text) {
    return LIKE_IPV6.matcher(text).matches() || IpAddress.parse(text) != null;
  }
}
