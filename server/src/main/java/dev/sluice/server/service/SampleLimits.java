// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Limits;
import java.time.Duration;

/** The limits of a service without limit files; also in examples/limits/samples.yml. Stateless. */
public final class SampleLimits {

  private SampleLimits() {}

  /**
   * Returns the limits.
   *
   * @return limits of the bundled names
   */
  public static Limits make() {
    return Limits.builder(BundledNames.catalogue())
        .limit("LoginsPerIPAddress", Quota.per(10, Duration.ofMinutes(1)))
        .limit("FailedLoginsPerIPAddress", Quota.per(30, Duration.ofHours(1)))
        .limit("LoginsPerUserPerIPAddress", Quota.per(5, Duration.ofMinutes(5)))
        .limit("SignUpsPerIPAddress", Quota.per(3, Duration.ofDays(1)))
        .limit("SignUpsPerIPv6Range", Quota.per(20, Duration.ofDays(1)))
        .limit("ApiCallsPerKey", Quota.of(100, 50, Duration.ofSeconds(1)))
        .build();
  }
}
