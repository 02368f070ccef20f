// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.IpAddress;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/*
 * A customer of an Internet provider has at least 2^64 IPv6 addresses and can use a new address for
 * each request. So every protocol of the server groups addresses by their first 64 bits. But if the
 * caller sends the id itself, as in the HTTP API, the id stays unchanged, since some limits count
 * single addresses.
 */
/** Maps all IPv6 addresses with the same first 64 bits to one id. */
public final class GroupedAddress {

  private static final int SUBSCRIBER_BITS = 64;

  /** The descriptor keys of the Envoy actions that send the client's address. */
  private static final Set<String> KEYS = Set.of("remote_address", "masked_remote_address");

  private GroupedAddress() {}

  /**
   * Returns whether the value of an entry is an address to be grouped, which depends on the entry's
   * key and the id's format.
   *
   * @param key the entry's key
   * @param format the format of the id, or of the part of the id, that contains the value
   * @return true if the value is to be grouped; false if the format does not accept a single
   *     address, such as a format for ranges
   */
  public static boolean isIn(String key, IdFormat format) {
    return format.equals(IdFormat.ipAddress()) || (KEYS.contains(key) && takesAddresses(format));
  }

  private static boolean takesAddresses(IdFormat format) {
    try {
      return format.canonical("::", Strictness.LENIENT).equals("::");
    } catch (InvalidIdException e) {
      return false;
    }
  }

  /**
   * Groups an address in the same way as {@code {ip}} groups a client's address.
   *
   * @param text an address or a range
   * @return the first 64 bits of an IPv6 address, as an address; for an IPv4 range, its lowest
   *     address; any other text unchanged
   */
  public static String of(String text) {
    IpAddress address = lowest(text);
    return address == null
        ? text
        : (address.isIpv4() ? address : address.prefix(SUBSCRIBER_BITS)).toString();
  }

  /**
   * Groups an address by its first bits, in the same way as {@code {ip/BITS}}.
   *
   * @return the range; null for an IPv4 address; the result of {@code of(text)} if {@code bits} is
   *     0
   */
  static @Nullable String of(String text, int bits) {
    if (bits == 0) {
      return of(text);
    }
    IpAddress address = lowest(text);
    if (address == null) {
      return text; // not an address: the id's format will reject the text
    }
    return address.isIpv4() ? null : address.prefix(bits) + "/" + bits;
  }

  /** Returns the address, or the lowest address of a range; null if the text is neither. */
  static @Nullable IpAddress lowest(String text) {
    IpAddress address = IpAddress.parse(text);
    if (address != null || text.indexOf('/') < 0) {
      return address;
    }
    try {
      return IpAddress.parse(IdFormat.ipAddress().canonical(text, Strictness.LENIENT));
    } catch (InvalidIdException e) {
      return null;
    }
  }
}
