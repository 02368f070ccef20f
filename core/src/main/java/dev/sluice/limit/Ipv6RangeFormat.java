// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat.Strictness;
import org.jspecify.annotations.Nullable;

/** A range of IPv6 addresses in CIDR notation, with the one mask that the limit's name asks for. */
final class Ipv6RangeFormat implements IdFormat {

  /** The range that is usually assigned to one subscriber, and Boulder's only mask. */
  static final int DEFAULT_PREFIX_LENGTH = 48;

  private final int prefixLength;

  Ipv6RangeFormat(int prefixLength) {
    if (prefixLength < 1 || prefixLength > 128) {
      throw new IllegalArgumentException(
          "prefixLength: found " + prefixLength + ", expected 1 to 128");
    }
    this.prefixLength = prefixLength;
  }

  @Override
  public String name() {
    return prefixLength == DEFAULT_PREFIX_LENGTH
        ? "ipv6RangeCIDR"
        : "ipv6RangeCIDR/" + prefixLength;
  }

  @Override
  public String canonical(String text, Strictness strictness) {
    IdFormat.requireLength(text, "an IPv6 range in CIDR notation");
    int slash = text.indexOf('/');
    IpAddress address = slash < 0 ? null : IpAddress.parse(text.substring(0, slash));
    String mask = slash < 0 ? "" : text.substring(slash + 1);
    if (address == null || !mask.matches("0|[1-9][0-9]{0,2}")) {
      throw new InvalidIdException(
          "invalid ipv6RangeCIDR, %s is not an IPv6 range in CIDR notation"
              .formatted(SafeText.quote(text)));
    }
    if (address.isIpv4() || Integer.parseInt(mask) != prefixLength) {
      throw new InvalidIdException(
          "invalid ipv6RangeCIDR, %s is not an IPv6 range with a /%s mask"
              .formatted(SafeText.quote(text), prefixLength));
    }
    IpAddress lowest = address.prefix(prefixLength);
    String canonical = strictness.canonical(text, lowest + "/" + prefixLength, "ipv6RangeCIDR");
    if (strictness == Strictness.STRICT) {
      SpecialPurpose.refuse(lowest, prefixLength);
    }
    return canonical;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Ipv6RangeFormat that && prefixLength == that.prefixLength;
  }

  @Override
  public int hashCode() {
    return prefixLength;
  }
}
