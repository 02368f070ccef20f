package dev.sluice.web;

import dev.sluice.limit.IpAddress;

/**
 * The addresses that share their first bits, as CIDR notation writes them. Immutable.
 *
 * @param lowest the address with all other bits clear
 * @param length bits that count
 */
record AddressRange(IpAddress lowest, int length) {

  /** Reads {@code 10.0.0.0/8}, {@code 2001:db8::/32}, or one address. */
  static AddressRange parse(String text) {
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
              "trusted proxies: found %s, whose host bits are not clear; did you mean %s/%s?"
                  .formatted(text, lowest, length));
        }
        return new AddressRange(lowest, length);
      }
    }
    throw new IllegalArgumentException(
        "trusted proxies: found \"%s\", expected an address or a range such as 10.0.0.0/8 or 2001:db8::/32"
            .formatted(text));
  }

  boolean contains(IpAddress address) {
    return address.isIpv4() == lowest.isIpv4() && address.prefix(length).equals(lowest);
  }
}
