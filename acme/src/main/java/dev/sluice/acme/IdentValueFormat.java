package dev.sluice.acme;

import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdTexts;
import dev.sluice.limit.IpAddress;
import dev.sluice.limit.Strictness;

/** The value of an ACME identifier: a domain, or an IP address. */
record IdentValueFormat(DomainFormat domain) implements IdFormat {

  @Override
  public String name() {
    return "identValue";
  }

  @Override
  public String canonical(String text, Strictness strictness) {
    IdTexts.requireLength(text, "a domain or an IP address");
    // No domain has a ":": what has one is an address, or gets the message about addresses.
    return isAddress(text)
        ? IdFormat.ipAddress().canonical(text, strictness)
        : domain.canonical(text, strictness);
  }

  /** Whether a text is, or was meant to be, an IP address. */
  static boolean isAddress(String text) {
    return text.indexOf(':') >= 0 || IpAddress.parse(text) != null;
  }
}
