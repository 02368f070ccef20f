// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import java.time.Duration;

/** Limits that the tests of the door share: one of each kind, and one that is missing. */
final class SampleFixture {

  private SampleFixture() {}

  static Limits limits() {
    return Limits.builder(Catalogue.samples())
        .limit("LoginsPerIPAddress", Quota.per(10, Duration.ofMinutes(1)))
        .limit("ApiCallsPerKey", Quota.burst(100).refill(50, Duration.ofSeconds(1)))
        .limit("SignUpsPerIPv6Range", Quota.per(20, Duration.ofDays(1)))
        .unlimited("FailedLoginsPerIPAddress")
        .override("LoginsPerUserPerIPAddress", "192.0.2.7:bob", Quota.per(1, Duration.ofDays(1)))
        .override("ApiCallsPerKey", "slow", Quota.burst(2).refill(1, Duration.ofMillis(1500)))
        .build();
  }
}
