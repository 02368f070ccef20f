// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import static dev.sluice.acme.AcmeLimit.CERTIFICATES_PER_DOMAIN;
import static dev.sluice.acme.AcmeLimit.CERTIFICATES_PER_DOMAIN_PER_ACCOUNT;
import static dev.sluice.acme.AcmeLimit.FAILED_AUTHORIZATIONS_FOR_PAUSING_PER_DOMAIN_PER_ACCOUNT;
import static dev.sluice.acme.AcmeLimit.FAILED_AUTHORIZATIONS_PER_DOMAIN_PER_ACCOUNT;
import static dev.sluice.acme.AcmeLimit.LIMIT_OVERRIDE_REQUESTS_PER_IP_ADDRESS;
import static dev.sluice.acme.AcmeLimit.NEW_ORDERS_PER_ACCOUNT;
import static dev.sluice.acme.AcmeLimit.NEW_REGISTRATIONS_PER_IP_ADDRESS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.InvalidIdException;
import dev.sluice.limit.IpAddress;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class BucketKeysTest {

  private final BucketKeys keys = AcmeLimits.bundled().keys();

  @Test
  void everyName_hasItsKey() {
    IpAddress ipv6 = IpAddress.parse("2001:db8:1:2:3::4");
    assertThat(keys.newIpAddressBucketKey(NEW_REGISTRATIONS_PER_IP_ADDRESS, ipv6))
        .isEqualTo("1:2001:db8:1:2:3::4");
    assertThat(keys.newIpv6RangeBucketKey(ipv6)).isEqualTo("2:2001:db8:1::/48");
    assertThat(keys.newRegIdBucketKey(NEW_ORDERS_PER_ACCOUNT, 12345678)).isEqualTo("3:12345678");
    assertThat(
            keys.newRegIdDomainBucketKey(
                FAILED_AUTHORIZATIONS_PER_DOMAIN_PER_ACCOUNT, 12345, "WWW.example.com"))
        .isEqualTo("4:12345:www.example.com");
    assertThat(keys.newDomainBucketKey("example.com")).isEqualTo("5:example.com");
    assertThat(keys.newDomainBucketKey("2001:db8:1:2:3::4")).isEqualTo("5:2001:db8:1:2::/64");
    assertThat(keys.newRegIdDomainBucketKey(CERTIFICATES_PER_DOMAIN_PER_ACCOUNT, 7, "10.0.0.1"))
        .isEqualTo("6:7:10.0.0.1/32");
    assertThat(
            keys.newFqdnSetBucketKey(
                Identifier.parseAll(List.of("example.org", "example.net", "example.com"))))
        .isEqualTo("7:394e82811f52e2da38b970afdb21c9bc9af81060939c690183c00fce37408738");
    assertThat(
            keys.newRegIdDomainBucketKey(
                FAILED_AUTHORIZATIONS_FOR_PAUSING_PER_DOMAIN_PER_ACCOUNT, 7, "10.0.0.1"))
        .isEqualTo("8:7:10.0.0.1");
    assertThat(keys.newRegIdBucketKey(CERTIFICATES_PER_DOMAIN_PER_ACCOUNT, -1))
        .isEqualTo("6:18446744073709551615");
    assertThat(
            keys.newIpAddressBucketKey(
                LIMIT_OVERRIDE_REQUESTS_PER_IP_ADDRESS, IpAddress.parse("::ffff:10.0.0.1")))
        .isEqualTo("9:10.0.0.1");
  }

  /** As an address is widened to its range. */
  @Test
  void nameBelowARegisteredDomain_hasTheKeyOfThatDomain() {
    assertThat(keys.newDomainBucketKey("WWW.example.co.uk")).isEqualTo("5:example.co.uk");
    assertThat(keys.newDomainBucketKey("*.github.io")).isEqualTo("5:*.github.io");
    assertThat(
            keys.newRegIdDomainBucketKey(CERTIFICATES_PER_DOMAIN_PER_ACCOUNT, 7, "a.b.example.com"))
        .isEqualTo("6:7:example.com");
    Catalogue names = AcmeLimits.bundled().catalogue();
    assertThat(names.get("CertificatesPerDomain").keyOf("www.example.com", Strictness.LENIENT))
        .isEqualTo("5:example.com");
    assertThat(
            names
                .get("CertificatesPerDomainPerAccount")
                .keyOf("7:www.example.com", Strictness.LENIENT))
        .isEqualTo("6:7:example.com");
  }

  @Test
  void aMissingPart_isNamed() {
    assertMissing(
        "ipAddress", () -> key(keys.newIpAddressBucketKey(NEW_REGISTRATIONS_PER_IP_ADDRESS, null)));
    assertMissing("ipAddress", () -> key(keys.newIpv6RangeBucketKey(null)));
    assertMissing("regId", () -> key(keys.newRegIdBucketKey(NEW_ORDERS_PER_ACCOUNT, 0)));
    assertMissing("regId", () -> key(regIdDomain(0, "example.com")));
    assertMissing("domain", () -> key(regIdDomain(7, null)));
    assertMissing("domain", () -> key(regIdDomain(7, "")));
    assertMissing("domain", () -> key(keys.newDomainBucketKey("")));
    assertMissing("identifiers", () -> key(keys.newFqdnSetBucketKey(List.of())));
    assertMissing("identifiers", () -> key(keys.newFqdnSetBucketKey(null)));
  }

  @Test
  void aPartOfAWrongForm_isRefused() {
    assertThatThrownBy(() -> key(regIdDomain(7, "examplecom"))).hasMessageContaining("dot");
    assertThatThrownBy(() -> key(keys.newIpv6RangeBucketKey(IpAddress.parse("10.0.0.1"))))
        .hasMessageContaining("IPv4");
  }

  @Test
  void aLimitWithOtherIds_isRefused() {
    assertThatThrownBy(() -> key(keys.newRegIdBucketKey(CERTIFICATES_PER_DOMAIN, 7)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("CERTIFICATES_PER_DOMAIN");
    assertThatThrownBy(
            () -> key(keys.newRegIdDomainBucketKey(NEW_ORDERS_PER_ACCOUNT, 7, "example.com")))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(
            () -> key(keys.newIpAddressBucketKey(NEW_ORDERS_PER_ACCOUNT, IpAddress.parse("::1"))))
        .isInstanceOf(IllegalArgumentException.class);
  }

  private String regIdDomain(long regId, String domain) {
    return keys.newRegIdDomainBucketKey(
        FAILED_AUTHORIZATIONS_PER_DOMAIN_PER_ACCOUNT, regId, domain);
  }

  private static void key(String unexpected) {
    throw new AssertionError("found " + unexpected + ", expected a refusal");
  }

  private static void assertMissing(String part, ThrowingCallable call) {
    assertThatThrownBy(call)
        .isInstanceOf(InvalidIdException.class)
        .hasMessageContaining("missing " + part);
  }
}
