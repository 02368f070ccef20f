// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import dev.sluice.internal.text.SafeText;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.IpAddress;
import java.util.function.Supplier;

/** The format of a DNS name: two or more labels under a known public suffix, no wildcard. */
record DomainFormat(Supplier<PublicSuffixes> suffixes) implements IdFormat {

  @Override
  public String name() {
    return "domain";
  }

  @Override
  public String canonical(String text, Strictness strictness) {
    IdFormat.requireLength(text, "a domain");
    if (IpAddress.parse(text) != null) {
      throw new InvalidIdException(
          "invalid domain, %s is an IP address".formatted(SafeText.quote(text)));
    }
    String name = DnsNames.canonical(text, name(), strictness);
    DnsNames.requireKnownSuffix(name, name(), suffixes.get(), strictness);
    return name;
  }
}
