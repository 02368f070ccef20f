// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.IpAddress;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * Makes the ids of transactions from typed parts. If a part is missing, a method throws an
 * exception that names the part.
 *
 * <p>The parts are joined with ":" and need no escapes. A registration id consists of digits, so it
 * ends at the first ":". All text after the first ":" is one value.
 */
final class AcmeIds {

  private AcmeIds() {}

  static String ipAddress(@Nullable IpAddress address) {
    return present(address, "ipAddress").toString();
  }

  /** Returns the /48 range that contains an IPv6 address. */
  static String ipv6Range(@Nullable IpAddress address) {
    IpAddress present = present(address, "ipAddress");
    if (present.isIpv4()) {
      throw new InvalidIdException(
          "invalid ipv6RangeCIDR, found the IPv4 address %s, expected an IPv6 address"
              .formatted(present));
    }
    return present.prefix(48) + "/48";
  }

  static String regId(long regId) {
    if (regId == 0) {
      throw missing("regId");
    }
    return Long.toUnsignedString(regId);
  }

  static String regIdAnd(long regId, @Nullable String value, String part) {
    return regId(regId) + ":" + presentText(value, part);
  }

  static String fqdnSet(@Nullable Collection<Identifier> identifiers) {
    Collection<Identifier> present = present(identifiers, "identifiers");
    if (present.isEmpty()) {
      throw missing("identifiers");
    }
    return AcmeFormats.FqdnSet.hash(present);
  }

  static String presentText(@Nullable String text, String part) {
    String present = present(text, part);
    if (present.isEmpty()) {
      throw missing(part);
    }
    return present;
  }

  static <T> T present(@Nullable T value, String part) {
    if (value == null) {
      throw missing(part);
    }
    return value;
  }

  private static InvalidIdException missing(String part) {
    return new InvalidIdException("incomplete id: missing " + part);
  }
}
