package dev.sluice.limit;

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
    IdTexts.requireLength(text, "an IP address");
    IpAddress address = IpAddress.parse(text);
    if (address == null) {
      throw new InvalidIdException(
          "invalid ipAddress, %s is not an IP address".formatted(IdTexts.quote(text)));
    }
    String canonical = IdTexts.canonical(text, address.toString(), "ipAddress", strictness);
    if (strictness == Strictness.STRICT) {
      SpecialPurpose.refuse(address, address.isIpv4() ? 32 : 128);
    }
    return canonical;
  }
}
