// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.IpAddress;

/**
 * The format of the ids under which identifiers are counted: a domain, or the /32 or /64 of an IP
 * address in CIDR form. A wildcard directly under a public suffix, such as {@code *.github.io},
 * counts as a domain here.
 */
record DomainOrCidrFormat(DomainFormat domain) implements IdFormat {

  private static final String WILDCARD = "*.";
  private static final String IPV4_MASK = "/32";

  @Override
  public String name() {
    return "domainOrCIDR";
  }

  @Override
  public String canonical(String text, Strictness strictness) {
    IdFormat.requireLength(text, "a domain, or the /32 or /64 of an IP address");
    if (text.indexOf('/') >= 0) {
      return range(text, strictness);
    }
    IpAddress address = IpAddress.parse(text);
    if (address != null) {
      throw new InvalidIdException(
          "invalid domainOrCIDR, %s is an IP address, expected its range %s"
              .formatted(SafeText.quote(text), SafeText.quote(Identifier.rangeOf(address))));
    }
    return text.startsWith(WILDCARD)
        ? wildcard(text.substring(WILDCARD.length()), strictness)
        : domain.canonical(text, strictness);
  }

  /** Returns the wildcard if it is directly under a public suffix; otherwise throws. */
  private String wildcard(String below, Strictness strictness) {
    String name = WILDCARD + domain.canonical(below, strictness);
    if (!widened(name).equals(name)) {
      throw new InvalidIdException(
          "invalid domainOrCIDR, %s has a wildcard, expected the domain that it is counted for: %s"
              .formatted(SafeText.quote(name), SafeText.quote(widened(name))));
    }
    return name;
  }

  @Override
  public String widened(String canonicalId) {
    return canonicalId.indexOf('/') >= 0
        ? canonicalId
        : domain.suffixes().get().registeredOf(canonicalId);
  }

  private static String range(String text, Strictness strictness) {
    if (text.indexOf(':') >= 0) {
      return IdFormat.ipv6Range(64).canonical(text, strictness);
    }
    if (!text.endsWith(IPV4_MASK)) {
      throw new InvalidIdException(
          "invalid domainOrCIDR, %s is not an IPv4 address with a /32 mask in CIDR notation"
              .formatted(SafeText.quote(text)));
    }
    String address = text.substring(0, text.length() - IPV4_MASK.length());
    return IdFormat.ipAddress().canonical(address, strictness) + IPV4_MASK;
  }
}
