// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.limit.IpAddress;

/**
 * A range of addresses with the same first bits, as in CIDR notation. Immutable and thread-safe.
 */
public final class AddressRange {

  private final IpAddress lowest;
  private final int length;

  /** Makes a range. All bits of {@code lowest} after the first {@code length} bits must be zero. */
  private AddressRange(IpAddress lowest, int length) {
    this.lowest = lowest;
    this.length = length;
  }

  /**
   * Reads a range.
   *
   * @param text {@code 10.0.0.0/8}, {@code 2001:db8::/32}, or one address
   * @return the range
   * @throws IllegalArgumentException if the text is not a range, or has a bit 1 after the prefix
   */
  public static AddressRange parse(String text) {
    int slash = text.indexOf('/');
    IpAddress address = IpAddress.parse(slash < 0 ? text : text.substring(0, slash));
    if (address != null) {
      int bits = address.isIpv4() ? 32 : 128;
      String mask = slash < 0 ? Integer.toString(bits) : text.substring(slash + 1);
      if (mask.matches("0|[1-9][0-9]{0,2}") && Integer.parseInt(mask) <= bits) {
        int length = Integer.parseInt(mask);
        IpAddress lowest = address.prefix(length);
        if (!lowest.equals(address)) {
          throw new IllegalArgumentException(
              "found %s, which has bits after its prefix that are not zero; did you mean %s/%s?"
                  .formatted(text, lowest, length));
        }
        return new AddressRange(lowest, length);
      }
    }
    throw new IllegalArgumentException(
        "found \"%s\", expected an address or a range such as 10.0.0.0/8 or 2001:db8::/32"
            .formatted(text));
  }

  /**
   * Returns whether an address is in this range. An IPv4 address is never in an IPv6 range.
   *
   * @param address the address
   * @return true if the address is in this range
   */
  public boolean contains(IpAddress address) {
    return address.isIpv4() == lowest.isIpv4() && address.prefix(length).equals(lowest);
  }

  /**
   * Returns whether all addresses of another range are in this range.
   *
   * @param other the other range
   * @return true if the other range lies in this range
   */
  public boolean covers(AddressRange other) {
    return length <= other.length && contains(other.lowest);
  }

  /** Returns the range in CIDR notation. */
  @Override
  public String toString() {
    return lowest + "/" + length;
  }
}
