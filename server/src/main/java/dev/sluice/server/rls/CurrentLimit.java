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
 * Envoy's limit is a number and a calendar unit; ours is a bucket. Where the bucket holds exactly
 * what comes back in one unit, the two say the same. Everywhere else the number is the burst, the
 * most that may ever remain, and the unit is UNKNOWN. Envoy then leaves the window out of its
 * headers, rather than tell a wrong one.
 */

/** Quotas in Envoy's terms, and back. Pure. */
final class CurrentLimit {

  /** The most that a field of 32 bits can say. */
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

  /** The limit that an answer tells. */
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

  /** Whether the unit of a limit that a caller brought is one. */
  static boolean hasUnit(RateLimitOverride override) {
    return PERIODS.containsKey(unit(override));
  }

  /**
   * The quota that a caller brought, whose unit is one; null for one of zero requests, which lets
   * nothing pass. A rate above one a nanosecond, the fastest that a bucket has, is one a
   * nanosecond.
   */
  static @Nullable Quota quota(RateLimitOverride override) {
    Duration period = Objects.requireNonNull(PERIODS.get(unit(override)));
    long requests =
        Math.min(Integer.toUnsignedLong(override.getRequestsPerUnit()), period.toNanos());
    return requests == 0 ? null : Quota.per(requests, period);
  }

  /** The unit of a limit that a caller brought. */
  static Unit unit(RateLimitOverride override) {
    return override.getUnit() == RateLimitUnit.UNRECOGNIZED
        ? Unit.UNKNOWN
        : Unit.forNumber(override.getUnitValue());
  }

  /** The same rate with a bucket so much deeper that it can hold a debt of some bursts. */
  static Quota inDebt(Quota quota, int bursts) {
    long deepest = Long.MAX_VALUE / quota.intervalNanos();
    long factor = 1L + bursts;
    long burst = quota.burst() > deepest / factor ? deepest : quota.burst() * factor;
    return Quota.of(burst, quota.count(), quota.period());
  }

  /** Cut to what the field can say. */
  static int uint32(long number) {
    return Long.compareUnsigned(number, Integer.toUnsignedLong(UINT32_MAX)) >= 0
        ? UINT32_MAX
        : (int) number;
  }

  /** Whole seconds, rounded up: Envoy reads nothing else. */
  static com.google.protobuf.Duration seconds(long nanos) {
    long seconds = nanos / NANOS_PER_SECOND + (nanos % NANOS_PER_SECOND > 0 ? 1 : 0);
    return com.google.protobuf.Duration.newBuilder().setSeconds(seconds).build();
  }
}
