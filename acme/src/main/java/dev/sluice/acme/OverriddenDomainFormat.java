// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.IpAddress;
import org.jspecify.annotations.Nullable;

/**
 * The format of ids in overrides: a domain, or the lowest IP address of a range, which stands for
 * the whole range. The canonical text is that of {@link DomainOrCidrFormat}.
 */
record OverriddenDomainFormat(DomainFormat domain) implements IdFormat {

  @Override
  public String name() {
    return "domainOrIPAddress";
  }

  @Override
  public String canonical(String text, Strictness strictness) {
    IdFormat.requireLength(text, "a domain or an IP address");
    int slash = text.indexOf('/');
    if (slash >= 0 && IdentValueFormat.isAddress(text.substring(0, slash))) {
      throw new InvalidIdException(
          "invalid domainOrIPAddress, %s is a range, expected a domain or one IP address"
              .formatted(SafeText.quote(text)));
    }
    if (!IdentValueFormat.isAddress(text)) {
      return domain.canonical(text, strictness);
    }
    String canonical = IdFormat.ipAddress().canonical(text, strictness);
    IpAddress address = IpAddress.parse(canonical);
    if (address == null) {
      throw new IllegalStateException("a canonical address must parse: " + canonical);
    }
    return lowestOf(Identifier.rangeOf(address), canonical);
  }

  @Override
  public String widened(String canonicalId) {
    return canonicalId.indexOf('/') >= 0
        ? canonicalId
        : domain.suffixes().get().registeredOf(canonicalId);
  }

  @Override
  public @Nullable String doubt(String canonicalId) {
    String registered = widened(canonicalId);
    return registered.equals(canonicalId)
        ? null
        : "found %s, which no request can match: certificates are counted for %s"
            .formatted(SafeText.quote(canonicalId), SafeText.quote(registered));
  }

  /** Requires the lowest address of a range, since other addresses would look like single ones. */
  private static String lowestOf(String range, String address) {
    String lowest = range.substring(0, range.indexOf('/'));
    if (!lowest.equals(address)) {
      throw new InvalidIdException(
          "invalid domainOrIPAddress, %s is not the lowest address of its range %s, expected %s"
              .formatted(SafeText.quote(address), range, SafeText.quote(lowest)));
    }
    return range;
  }
}
