// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.LimitName;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The forms of ids, beyond the recorded ones. */
class AcmeIdsTest {

  private static final Catalogue CATALOGUE = AcmeLimits.bundled().catalogue();
  private static final IdFormat DOMAIN = AcmeLimits.bundled().idFormats().parse("domain");

  @ParameterizedTest
  @ValueSource(
      strings = {
        "example.com",
        "a.b.c.d.e.example.co.uk",
        "xn--bcher-kva.example.com", // bücher
        "xn--fa-hia.de", // faß, which IDNA2003 would map to fass
        "xn--i-7iq.ws", // i❤
        "123.com",
        "github.io",
        "foo.github.io",
        "example.xn--p1ai"
      })
  void domain_ofLdhLabelsUnderASuffix_isItself(String text) {
    assertThat(DOMAIN.canonical(text, Strictness.STRICT)).isEqualTo(text);
  }

  @ParameterizedTest
  @CsvSource({
    "'', empty",
    "com, dot",
    "example.com., ends with a dot",
    "*.example.com, wildcard",
    ".example.com, empty label",
    "example..com, empty label",
    "-a.com, hyphen",
    "a-.com, hyphen",
    "a_b.com, U+005F",
    "'a b.com', U+0020",
    "exämple.com, punycode",
    "\u212Aelvin.com, U+212A", // the Kelvin sign, whose lower case is "k"
    "ab--cd.com, third place",
    "xn--.com, hyphen",
    "xn--a.com, punycode",
    "xn--e\u0301-.com, U+0301",
    "192.0.2.1, IP address",
    "example.nosuchtld, public suffix",
    "localhost.localdomain, public suffix",
    "www.example.163, ends in a number"
  })
  void domain_ofAnotherForm_isRefusedWithTheReason(String text, String reason) {
    assertThatThrownBy(() -> DOMAIN.canonical(text, Strictness.LENIENT))
        .isInstanceOf(InvalidIdException.class)
        .hasMessageContaining(reason);
  }

  @Test
  void domain_punycodeOfTextThatIsNotNfc_isRefused() {
    // "e" and a combining acute accent, in punycode: its NFC is one letter, in xn--9ca.
    assertThatThrownBy(() -> DOMAIN.canonical("xn--e-xbb.com", Strictness.LENIENT))
        .hasMessageContaining("NFC");
    assertThat(DOMAIN.canonical("xn--9ca.com", Strictness.STRICT)).isEqualTo("xn--9ca.com");
  }

  @Test
  void domain_atItsLongest_isTaken_andOneMoreIsRefused() {
    String label = "a".repeat(63);
    String longest = String.join(".", label, label, label, "a".repeat(57), "com");
    assertThat(longest).hasSize(253);
    assertThat(DOMAIN.canonical(longest, Strictness.STRICT)).isEqualTo(longest);
    assertThatThrownBy(() -> DOMAIN.canonical("a" + longest, Strictness.LENIENT))
        .hasMessageContaining("254 characters");
    assertThatThrownBy(() -> DOMAIN.canonical(label + "a.com", Strictness.LENIENT))
        .hasMessageContaining("64 characters");
  }

  @Test
  void domain_thatIsAnIcannSuffix_isRefusedStrictlyOnly() {
    assertThat(DOMAIN.canonical("co.uk", Strictness.LENIENT)).isEqualTo("co.uk");
    assertThatThrownBy(() -> DOMAIN.canonical("co.uk", Strictness.STRICT))
        .hasMessageContaining("itself a public suffix");
  }

  @ParameterizedTest
  @CsvSource({
    "CertificatesPerDomain, 10.0.0.1, 5:10.0.0.1/32",
    "CertificatesPerDomain, 2001:DB8::, 5:2001:db8::/64",
    "CertificatesPerDomainPerAccount, 7, 6:7",
    "CertificatesPerDomainPerAccount, 7:10.0.0.1/32, 6:7:10.0.0.1/32",
    "CertificatesPerDomainPerAccount, 007:2001:db8::1/64, 6:7:2001:db8::/64",
    "FailedAuthorizationsPerDomainPerAccount, 7:2001:0db8::1, 4:7:2001:db8::1",
    "FailedAuthorizationsPerDomainPerAccount, 18446744073709551615, 4:18446744073709551615",
    "FailedAuthorizationsForPausingPerDomainPerAccount, 7:WWW.example.com, 8:7:www.example.com",
    "LimitOverrideRequestsPerIPAddress, ::ffff:192.0.2.1, 9:192.0.2.1"
  })
  void keyOf_lenientId_isCanonical(String limit, String id, String key) {
    assertThat(CATALOGUE.get(limit).keyOf(id, Strictness.LENIENT)).isEqualTo(key);
  }

  /** Otherwise each subdomain would have a bucket, and a penalty for one would not hold. */
  @ParameterizedTest
  @CsvSource({
    "CertificatesPerDomain, a.Example.org, example.org",
    "CertificatesPerDomain, a.b.co.uk, b.co.uk",
    "CertificatesPerDomain, ann.github.io, ann.github.io",
    "CertificatesPerDomain, github.io, github.io",
    "CertificatesPerDomainPerAccount, 7:b.example.org, 7:example.org"
  })
  void idOfARequest_isTheDomainUnderWhichCertificatesAreCounted(
      String limit, String id, String counted) {
    LimitName name = CATALOGUE.get(limit);
    String canonical = name.id().canonical(id, Strictness.LENIENT);
    assertThat(canonical).isEqualTo(counted);
    assertThat(name.bucketKey(canonical)).isEqualTo(name.keyOf(id, Strictness.LENIENT));
    assertThat(name.id().canonical(counted, Strictness.STRICT)).isEqualTo(counted);
    if (!id.equals(counted)) {
      assertThatThrownBy(() -> name.id().canonical(id.toLowerCase(Locale.ROOT), Strictness.STRICT))
          .isInstanceOf(InvalidIdException.class)
          .hasMessageContaining("counted: ");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "CertificatesPerDomain, 2001:db8::1, lowest",
    "CertificatesPerDomain, 10.0.0.0/24, IP address",
    "CertificatesPerDomain, 2001:db8::1/64, IP address",
    "CertificatesPerDomain, 10.0.0.9000, IP address",
    "CertificatesPerDomain, example:.com, 'the character U+003A'",
    "CertificatesPerDomain, https://example.com/, 'the character U+003A'",
    "CertificatesPerDomain, example.com/, 'the character U+002F'",
    "CertificatesPerDomain, 2001:db8:::1, IP address",
    "CertificatesPerDomain, [2001:db8::1], 'the character U+005B'",
    "CertificatesPerDomain, fe80::1%eth0, IP address",
    "CertificatesPerDomainPerAccount, 7:10.0.0.1, '10.0.0.1/32'",
    "CertificatesPerDomainPerAccount, 7:10.0.0.0/24, CIDR",
    "CertificatesPerDomainPerAccount, 7:10.0.0.0/8/32, CIDR",
    "CertificatesPerDomainPerAccount, 7:2001:db8::/48, /64",
    "CertificatesPerDomainPerAccount, -7, regId",
    "NewOrdersPerAccount, 18446744073709551616, regId",
    "FailedAuthorizationsPerDomainPerAccount, 7:, empty",
    "FailedAuthorizationsPerDomainPerAccount, :example.com, empty",
    "FailedAuthorizationsPerDomainPerAccount, 7:*.example.com, wildcard",
    "CertificatesPerFQDNSet, 'example.com,,example.org', empty",
    "CertificatesPerFQDNSet, 'example.com, example.org', U+0020",
    "CertificatesPerFQDNSet, 'example.com,foo', dot",
    "CertificatesPerFQDNSet, 394E82811F52E2DA38B970AFDB21C9BC9AF81060939C690183C00FCE37408738, 64 characters"
  })
  void keyOf_badId_isRefusedWithTheReason(String limit, String id, String reason) {
    assertThatThrownBy(() -> CATALOGUE.get(limit).keyOf(id, Strictness.LENIENT))
        .isInstanceOf(InvalidIdException.class)
        .hasMessageContaining(reason);
  }

  @ParameterizedTest
  @CsvSource({
    "CertificatesPerDomain, 10.0.0.1",
    "CertificatesPerDomainPerAccount, 7:10.0.0.1/32",
    "CertificatesPerDomainPerAccount, 7:2001:db8::/64",
    "FailedAuthorizationsPerDomainPerAccount, 7:192.168.0.1",
    "CertificatesPerFQDNSet, 'example.com,10.0.0.1'"
  })
  void keyOf_reservedAddress_isRefusedStrictlyOnly(String limit, String id) {
    assertThat(CATALOGUE.get(limit).keyOf(id, Strictness.LENIENT)).isNotEmpty();
    assertThatThrownBy(() -> CATALOGUE.get(limit).keyOf(id, Strictness.STRICT))
        .hasMessageContaining("reserved");
  }

  /** As in Boulder's policy. */
  @Test
  void strictMode_takesMulticastAddresses_andRefusesElevenLabels() {
    LimitName addresses = CATALOGUE.get("NewRegistrationsPerIPAddress");
    assertThat(addresses.keyOf("224.0.0.1", Strictness.STRICT)).isEqualTo("1:224.0.0.1");
    assertThat(addresses.keyOf("ff02::1", Strictness.STRICT)).isEqualTo("1:ff02::1");
    LimitName failures = CATALOGUE.get("FailedAuthorizationsPerDomainPerAccount");
    String ten = "7:" + "a.".repeat(8) + "example.com";
    assertThat(failures.keyOf(ten, Strictness.STRICT)).isEqualTo("4:" + ten);
    String eleven = "7:" + "a.".repeat(9) + "example.com";
    assertThat(failures.keyOf(eleven, Strictness.LENIENT)).isEqualTo("4:" + eleven);
    assertThatThrownBy(() -> failures.keyOf(eleven, Strictness.STRICT))
        .hasMessageContaining("has 11 labels, expected at most 10");
  }

  @Test
  void fqdnSet_takesItsOwnHash_soThatADumpCanBeReadBack() {
    IdFormat set = AcmeLimits.bundled().idFormats().parse("fqdnSet");
    String hash = set.canonical("b.example.com,a.example.com", Strictness.LENIENT);
    assertThat(set.canonical(hash, Strictness.STRICT)).isEqualTo(hash);
  }

  @Test
  void fqdnSet_ofAWildcard_isAnotherSetThanOfTheName() {
    IdFormat set = AcmeLimits.bundled().idFormats().parse("fqdnSet");
    assertThat(set.canonical("*.example.com", Strictness.LENIENT))
        .isNotEqualTo(set.canonical("example.com", Strictness.LENIENT));
  }

  @Test
  void fqdnSet_holdsAsManyAsAnOrder_andNoMore() {
    IdFormat set = AcmeLimits.bundled().idFormats().parse("fqdnSet");
    assertThat(set.canonical(names(100), Strictness.LENIENT)).hasSize(64);
    assertThat(set.canonical(names(100) + ",n0.example.com", Strictness.LENIENT))
        .isEqualTo(set.canonical(names(100), Strictness.LENIENT));
    assertThatThrownBy(() -> set.canonical(names(101), Strictness.LENIENT))
        .hasMessageContaining("at most 100");
    assertThatThrownBy(() -> set.canonical(names(100_000), Strictness.LENIENT))
        .hasMessageContaining("at most 100");
  }

  private static String names(int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> "n" + i + ".example.com")
        .collect(Collectors.joining(","));
  }

  @Test
  void overrideIdOf_isTheOtherWayOfBucketKey() {
    for (var idOf :
        List.of(
            List.of("NewOrdersPerAccount", "17"),
            List.of("CertificatesPerDomain", "example.com"),
            List.of("CertificatesPerDomain", "2001:db8::"),
            List.of("CertificatesPerDomainPerAccount", "17"),
            List.of("CertificatesPerFQDNSet", "example.com,example.org"))) {
      var name = CATALOGUE.get(idOf.get(0));
      String canonical = name.overrideId().canonical(idOf.get(1), Strictness.LENIENT);
      assertThat(name.overrideIdOf(name.bucketKey(canonical))).isEqualTo(canonical);
    }
    var orders = CATALOGUE.get("NewOrdersPerAccount");
    assertThatThrownBy(() -> orders.overrideIdOf("4:17")).hasMessageContaining("\"3:\"");
    assertThatThrownBy(() -> orders.overrideIdOf("3:017")).hasMessageContaining("\"3:17\"");
    assertThatThrownBy(() -> orders.overrideIdOf("3:lol")).hasMessageContaining("regId");
  }
}
