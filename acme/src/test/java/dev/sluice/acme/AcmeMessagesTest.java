// SPDX-License-Identifier: Apache-2.0
package dev.sluice.acme;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.LimitName;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a denied client reads. */
class AcmeMessagesTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "1|10.0.0.1|too many new registrations (10) from this IP address in the last 168h0m0s|new-registrations-per-ip-address",
        "2|2001:db8::/48|too many new registrations (10) from this /48 subnet of IPv6 addresses in the last 168h0m0s|new-registrations-per-ipv6-range",
        "3|7|too many new orders (10) from this account in the last 168h0m0s|new-orders-per-account",
        "4|7:2001:db8::1|too many failed authorizations (10) for \"2001:db8::1\" in the last 168h0m0s|authorization-failures-per-identifier-per-account",
        "5|example.com|too many certificates (10) already issued for \"example.com\" in the last 168h0m0s|new-certificates-per-registered-domain",
        "6|7:2001:db8::/64|too many certificates (10) already issued for \"2001:db8::/64\" in the last 168h0m0s|new-certificates-per-registered-domain",
        "7|394e|too many certificates (10) already issued for this exact set of identifiers in the last 168h0m0s|new-certificates-per-exact-set-of-identifiers",
        "8|7:example.com|too many failed authorizations in a row (10) for \"example.com\": this account is paused for it|consecutive-authorization-failures-per-identifier-per-account",
        "9|10.0.0.1|too many override request form submissions (10) from this IP address in the last 168h0m0s|new-registrations-per-ip-address"
      })
  void denial_namesTheLimitAndWhereToRead(int number, String id, String text, String anchor) {
    LimitName name = AcmeLimits.bundled().catalogue().find(number);
    assertThat(name.denial(Quota.per(10, Duration.ofDays(7)), id)).isEqualTo(text);
    assertThat(name.helpLink()).isEqualTo("https://letsencrypt.org/docs/rate-limits/#" + anchor);
  }

  @Test
  void catalogue_hasTheNineNames_andOnlyNumber6HasNoDefault() {
    assertThat(AcmeLimits.bundled().catalogue().names()).hasSize(9);
    for (AcmeLimit limit : AcmeLimit.values()) {
      LimitName name = AcmeLimits.bundled().catalogue().get(limit.limitName());
      assertThat(name.number()).isEqualTo(limit.number());
      assertThat(name.overridesOnly())
          .isEqualTo(limit == AcmeLimit.CERTIFICATES_PER_DOMAIN_PER_ACCOUNT);
    }
  }
}
