// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.limit.IpAddress;

/**
 * The addresses that share their first bits, as CIDR notation writes them. Immutable and
 * thread-safe.
 */
public final class AddressRange {

  private final IpAddress lowest;
  private final int length;

  /** Its lowest address has all bits clear but the first {@code length}. */
  private AddressRange(IpAddress lowest, int length) {
    this.lowest = lowest;
    this.length = length;
  }

  /**
   * Reads a range.
   *
   * @param text {@code 10.0.0.0/8}, {@code 2001:db8::/32}, or one address
   * @return the range
   * @throws IllegalArgumentException if the text is not a range, or has host bits that are not
   *     clear
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
              "found %s, whose host bits are not clear; did you mean %s/%s?"
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
   * Returns whether an address is in this range. An IPv4 address is never in a range of IPv6.
   *
   * @param address the address
   * @return true if it is
   */
  public boolean contains(IpAddress address) {
    return address.isIpv4() == lowest.isIpv4() && address.prefix(length).equals(lowest);
  }

  /**
   * Returns whether each address of another range is in this one.
   *
   * @param other the other range
   * @return true if it lies in this one
   */
  public boolean covers(AddressRange other) {
    return length <= other.length && contains(other.lowest);
  }

  /** As CIDR notation writes it. */
  @Override
  public String toString() {
    return lowest + "/" + length;
  }
}
