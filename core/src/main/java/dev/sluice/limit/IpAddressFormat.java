// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.text.SafeText;
import org.jspecify.annotations.Nullable;

/**
 * An IPv4 or IPv6 address. A range whose bits behind the mask are clear is read as its lowest
 * address, by which groups of addresses are counted.
 */
final class IpAddressFormat implements IdFormat {

  static final IpAddressFormat INSTANCE = new IpAddressFormat();

  /** The bits before the IPv4 address in an IPv4-mapped IPv6 address. */
  private static final int MAPPED_BITS = 96;

  private IpAddressFormat() {}

  @Override
  public String name() {
    return "ipAddress";
  }

  @Override
  public String canonical(String text, Strictness strictness) {
    IdFormat.requireLength(text, "an IP address");
    int slash = text.indexOf('/');
    IpAddress address = slash < 0 ? IpAddress.parse(text) : lowest(text, slash);
    if (address == null) {
      throw new InvalidIdException(
          "invalid ipAddress, %s is not an IP address".formatted(SafeText.quote(text)));
    }
    String canonical = strictness.canonical(text, address.toString(), "ipAddress");
    if (strictness == Strictness.STRICT) {
      SpecialPurpose.refuse(address, address.isIpv4() ? 32 : 128);
    }
    return canonical;
  }

  /** The lowest address of a range; null if the text is none. */
  private static @Nullable IpAddress lowest(String text, int slash) {
    IpAddress address = IpAddress.parse(text.substring(0, slash));
    String mask = text.substring(slash + 1);
    if (address == null || !mask.matches("0|[1-9][0-9]{0,2}")) {
      return null;
    }
    int bits = Integer.parseInt(mask);
    boolean isMapped = address.isIpv4() && text.indexOf(':') >= 0;
    if (bits > (isMapped || !address.isIpv4() ? 128 : 32)) {
      return null;
    }
    int kept = isMapped ? bits - MAPPED_BITS : bits;
    if (kept < 0 || !address.prefix(kept).equals(address)) {
      throw new InvalidIdException(
          "invalid ipAddress, %s has bits after /%s that are not zero; write \"%s\"%s"
              .formatted(
                  SafeText.quote(text),
                  bits,
                  kept < 0 ? address : address.prefix(kept),
                  kept < 0 ? "" : " for its range"));
    }
    return address;
  }

  /** Recognizes IPv4 only: four numbers up to 255 without leading zeros. */
  @Override
  public boolean isCanonical(byte[] ascii, int length) {
    int dots = 0;
    int octet = -1; // before its first digit
    for (int i = 0; i < length; i++) {
      byte c = ascii[i];
      if (c == '.' && octet >= 0) {
        dots++;
        octet = -1;
      } else if (c >= '0' && c <= '9' && octet != 0) {
        octet = Math.max(octet, 0) * 10 + (c - '0');
        if (octet > 255) {
          return false;
        }
      } else {
        return false;
      }
    }
    return dots == 3 && octet >= 0;
  }
}
