// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidIdException;
import dev.sluice.limit.IpAddress;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/*
 * A subscriber has at least 2^64 addresses of IPv6, and may use another one for each request. So
 * addresses are counted by their first 64 bits, at each door. Where a caller names an id itself, as
 * at the HTTP API, the id stays as it is: some limits count single addresses.
 */
/** Addresses as ids have them: those of one subscriber are one. Pure. */
public final class GroupedAddress {

  private static final int SUBSCRIBER_BITS = 64;

  /** The keys of Envoy's actions for the client's address. */
  private static final Set<String> KEYS = Set.of("remote_address", "masked_remote_address");

  private GroupedAddress() {}

  /**
   * Returns whether the value of an entry is an address that is to be grouped: by the entry's key,
   * or by the form of the id that it makes.
   *
   * @param key the entry's key
   * @param format the form of the id, or of the part of it, that the value makes
   * @return false also where the form takes no single address, as that of a range
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
   * Groups an address, as {@code {ip}} does that of a request.
   *
   * @param text an address or a range
   * @return its first 64 bits as an address; an IPv4 address, and what is neither, as it is
   */
  public static String of(String text) {
    IpAddress address = lowest(text);
    return address == null
        ? text
        : (address.isIpv4() ? address : address.prefix(SUBSCRIBER_BITS)).toString();
  }

  /** The same by other bits, as {@code {ip/BITS}}: the range, null for IPv4. By 0, as above. */
  static @Nullable String of(String text, int bits) {
    if (bits == 0) {
      return of(text);
    }
    IpAddress address = lowest(text);
    if (address == null) {
      return text; // no id: the format says so
    }
    return address.isIpv4() ? null : address.prefix(bits) + "/" + bits;
  }

  /** The address, or the lowest one of a range; null if the text is neither. */
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
