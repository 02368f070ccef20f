// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import dev.sluice.envoy.RateLimitDescriptor.RateLimitOverride;
import dev.sluice.envoy.RateLimitResponse.RateLimit;
import dev.sluice.envoy.RateLimitResponse.RateLimit.Unit;
import dev.sluice.envoy.RateLimitUnit;
import dev.sluice.gcra.Quota;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/*
 * Envoy's limit is a number of requests per calendar unit; Sluice's limit is a bucket. If a bucket
 * refills exactly its burst in one calendar unit, the two limits are the same. For any other
 * bucket, the response reports the burst as the number, since at most the burst can remain, and
 * UNKNOWN as the unit. For UNKNOWN, Envoy omits the window from its headers.
 */

/** Converts quotas of Sluice to limits of Envoy, and back. */
final class CurrentLimit {

  static final int UINT32_MAX = -1;

  private static final long NANOS_PER_SECOND = 1_000_000_000;

  private static final Map<Unit, Duration> PERIODS = periods();

  private CurrentLimit() {}

  private static Map<Unit, Duration> periods() {
    Map<Unit, Duration> periods = new EnumMap<>(Unit.class);
    periods.put(Unit.SECOND, Duration.ofSeconds(1));
    periods.put(Unit.MINUTE, Duration.ofMinutes(1));
    periods.put(Unit.HOUR, Duration.ofHours(1));
    periods.put(Unit.DAY, Duration.ofDays(1));
    periods.put(Unit.WEEK, Duration.ofDays(7));
    periods.put(Unit.MONTH, Duration.ofDays(30));
    periods.put(Unit.YEAR, Duration.ofDays(365));
    return periods;
  }

  static RateLimit of(Quota quota, String name) {
    return RateLimit.newBuilder()
        .setRequestsPerUnit(uint32(quota.burst()))
        .setUnit(quota.burst() == quota.count() ? unit(quota.period()) : Unit.UNKNOWN)
        .setName(name)
        .build();
  }

  private static Unit unit(Duration period) {
    for (Map.Entry<Unit, Duration> one : PERIODS.entrySet()) {
      if (one.getValue().equals(period)) {
        return one.getKey();
      }
    }
    return Unit.UNKNOWN;
  }

  static boolean hasUnit(RateLimitOverride override) {
    return PERIODS.containsKey(unit(override));
  }

  /** Converts a proxy's limit to a quota, at most one per ns; null for a limit of zero. */
  static @Nullable Quota quota(RateLimitOverride override) {
    Duration period = Objects.requireNonNull(PERIODS.get(unit(override)));
    long requests =
        Math.min(Integer.toUnsignedLong(override.getRequestsPerUnit()), period.toNanos());
    return requests == 0 ? null : Quota.per(requests, period);
  }

  static Unit unit(RateLimitOverride override) {
    return override.getUnit() == RateLimitUnit.UNRECOGNIZED
        ? Unit.UNKNOWN
        : Unit.forNumber(override.getUnitValue());
  }

  /**
   * Returns a quota with the same rate, and with a burst of {@code burst} times {@code factor}, or
   * the largest burst that a bucket can hold at this rate.
   */
  static Quota withBurst(Quota quota, long burst, long factor) {
    long most = Long.MAX_VALUE / quota.intervalNanos();
    return Quota.burst(burst > most / factor ? most : burst * factor)
        .refill(quota.count(), quota.period());
  }

  /** Converts a number to 32 bits; a larger number becomes the largest value of 32 bits. */
  static int uint32(long number) {
    return Long.compareUnsigned(number, Integer.toUnsignedLong(UINT32_MAX)) >= 0
        ? UINT32_MAX
        : (int) number;
  }

  /** Converts nanoseconds to whole seconds, rounded up, since Envoy ignores fractions. */
  static com.google.protobuf.Duration seconds(long nanos) {
    long seconds = nanos / NANOS_PER_SECOND + (nanos % NANOS_PER_SECOND > 0 ? 1 : 0);
    return com.google.protobuf.Duration.newBuilder().setSeconds(seconds).build();
  }
}
