// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.text.SafeText;

/** An IPv4 or IPv6 address. */
final class IpAddressFormat implements IdFormat {

  static final IpAddressFormat INSTANCE = new IpAddressFormat();

  private IpAddressFormat() {}

  @Override
  public String name() {
    return "ipAddress";
  }

  @Override
  public String canonical(String text, Strictness strictness) {
    IdFormat.requireLength(text, "an IP address");
    IpAddress address = IpAddress.parse(text);
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
