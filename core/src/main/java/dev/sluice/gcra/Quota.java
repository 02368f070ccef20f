// SPDX-License-Identifier: Apache-2.0
package dev.sluice.gcra;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A bucket of {@code burst} tokens, to which {@code count} tokens are added every {@code period}.
 *
 * <p>Immutable and thread-safe. All derived times are whole nanoseconds and fit into a signed
 * 64-bit number; a quota with longer times cannot be created.
 */
public final class Quota {

  /** The largest number of quotas that one limit can have. */
  public static final int MOST_OF_A_LIMIT = 4;

  private final long burst;
  private final long count;
  private final long periodNanos;
  private final long intervalNanos;
  private final long offsetNanos;

  private Quota(long burst, long count, long periodNanos) {
    this.burst = burst;
    this.count = count;
    this.periodNanos = periodNanos;
    this.intervalNanos = periodNanos / count;
    this.offsetNanos = intervalNanos * burst;
  }

  /**
   * Returns a quota whose burst equals its count: a client can empty the bucket at once, and the
   * bucket refills within the period.
   *
   * @param count the capacity of the bucket in tokens, at least 1
   * @param period the time in which an empty bucket fills, 1 ns to about 292 years
   * @return the quota
   * @throws IllegalArgumentException see {@link Burst#refill}
   */
  public static Quota per(long count, Duration period) {
    return of(count, count, period);
  }

  /**
   * Sets the capacity of the bucket as the first step of {@code Quota.burst(20).refill(10,
   * minute)}.
   *
   * @param tokens the capacity of the bucket, at least 1
   * @return an object that creates the quota when the refill is given
   */
  public static Burst burst(long tokens) {
    return new Burst(tokens);
  }

  /** The burst of a quota; {@link #refill} creates the quota. Immutable and thread-safe. */
  public static final class Burst {

    private final long burst;

    private Burst(long burst) {
      this.burst = burst;
    }

    /**
     * Creates the quota with this burst and the given refill.
     *
     * @param count the number of tokens added every period, at least 1
     * @param period the time in which {@code count} tokens are added, 1 ns to about 292 years
     * @return the quota
     * @throws IllegalArgumentException if burst, count or period is out of range; the message lists
     *     each wrong value and the allowed range
     */
    public Quota refill(long count, Duration period) {
      return of(burst, count, period);
    }
  }

  private static Quota of(long burst, long count, Duration period) {
    List<Fault> faults = faults(burst, count, period);
    if (!faults.isEmpty()) {
      throw new IllegalArgumentException(
          String.join("; ", faults.stream().map(f -> f.field() + ": " + f.message()).toList()));
    }
    return new Quota(burst, count, period.toNanos());
  }

  /**
   * Checks the values of a quota without creating the quota. Parsers of files use this method to
   * report each fault with its position.
   *
   * @param burst the capacity of the bucket in tokens
   * @param count the number of tokens added every period
   * @param period the time in which {@code count} tokens are added
   * @return all faults, empty for a valid quota
   */
  public static List<Fault> faults(long burst, long count, Duration period) {
    Objects.requireNonNull(period, "period");
    List<Fault> faults = new ArrayList<>();
    if (burst <= 0) {
      faults.add(new Fault("burst", "found " + burst + ", expected a whole number > 0"));
    }
    if (count <= 0) {
      faults.add(new Fault("count", "found " + count + ", expected a whole number > 0"));
    }
    boolean tooLong = period.compareTo(Duration.ofNanos(Long.MAX_VALUE)) > 0;
    if (period.isNegative() || period.isZero()) {
      faults.add(new Fault("period", "found " + period + ", expected a duration > 0"));
    } else if (tooLong) {
      faults.add(
          new Fault(
              "period",
              "found " + period + ", expected at most 9223372036854775807 ns (about 292 years)"));
    }
    if (count <= 0 || tooLong || period.isNegative() || period.isZero()) {
      return faults;
    }
    long intervalNanos = period.toNanos() / count;
    if (intervalNanos == 0) {
      faults.add(
          new Fault(
              "count",
              "found %s in %s ns, expected at most one token a nanosecond: the emission interval"
                      .formatted(count, period.toNanos())
                  + " (period / count) would round to 0"));
    } else if (burst > Long.MAX_VALUE / intervalNanos) {
      faults.add(
          new Fault(
              "burst",
              "found %s, expected at most %s: the time to fill the bucket (burst × period / count)"
                      .formatted(burst, Long.MAX_VALUE / intervalNanos)
                  + " overflows 64 bits of nanoseconds (about 292 years)"));
    }
    return faults;
  }

  /**
   * A violation of the rules for a quota.
   *
   * @param field {@code burst}, {@code count} or {@code period}
   * @param message the value that was found, and the rule that this value breaks
   */
  public record Fault(String field, String message) {}

  /**
   * Returns the capacity of the bucket.
   *
   * @return the number of tokens, at least 1
   */
  public long burst() {
    return burst;
  }

  /**
   * Returns the number of tokens added every period.
   *
   * @return the number of tokens, at least 1
   */
  public long count() {
    return count;
  }

  /**
   * Returns the time in which {@link #count} tokens are added.
   *
   * @return a positive duration
   */
  public Duration period() {
    return Duration.ofNanos(periodNanos);
  }

  /**
   * Returns the emission interval T, the time in which one token is added: period / count, rounded
   * down.
   *
   * @return the time in nanoseconds, at least 1
   */
  public long intervalNanos() {
    return intervalNanos;
  }

  /**
   * Returns the burst offset (or tolerance) τ, the time in which an empty bucket fills: T × burst.
   *
   * @return the time in nanoseconds, at least 1
   */
  public long offsetNanos() {
    return offsetNanos;
  }

  /**
   * Returns the cost increment: the time by which a spend moves the TAT, T × cost.
   *
   * @param cost the number of tokens, 0 to {@link #burst}
   * @return the increment in nanoseconds, 0 to {@link #offsetNanos}
   */
  public long incrementNanos(long cost) {
    return intervalNanos * cost;
  }

  /**
   * Returns whether this quota allows less than another quota: it has a lower rate, or a smaller
   * burst at the same rate.
   *
   * @param other the quota to compare with
   * @return true if this quota is lower
   */
  public boolean isLowerThan(Quota other) {
    // Compares count / period with other.count / other.period by multiplying both fractions with
    // both periods. The products have up to 126 bits.
    long highs = Math.multiplyHigh(count, other.periodNanos);
    long otherHighs = Math.multiplyHigh(other.count, periodNanos);
    int rates =
        highs != otherHighs
            ? Long.compare(highs, otherHighs)
            : Long.compareUnsigned(count * other.periodNanos, other.count * periodNanos);
    return rates < 0 || (rates == 0 && burst < other.burst);
  }

  /**
   * Checks the quotas of one limit, and sorts them: the quota with the longest period first.
   *
   * @param quotas 1 to {@link #MOST_OF_A_LIMIT} quotas, each with a different period
   * @return a sorted copy
   * @throws IllegalArgumentException if there are too few or too many quotas, or equal periods
   */
  public static List<Quota> ofOneLimit(List<Quota> quotas) {
    List<Quota> sorted = new ArrayList<>(List.copyOf(quotas));
    if (sorted.isEmpty() || sorted.size() > MOST_OF_A_LIMIT) {
      throw new IllegalArgumentException(
          "found %s quotas, expected 1 to %s".formatted(sorted.size(), MOST_OF_A_LIMIT));
    }
    sorted.sort(Comparator.comparingLong((Quota quota) -> quota.periodNanos).reversed());
    for (int i = 1; i < sorted.size(); i++) {
      if (sorted.get(i - 1).periodNanos == sorted.get(i).periodNanos) {
        throw new IllegalArgumentException(
            "found two quotas with the same period (%s; %s), expected different periods"
                .formatted(sorted.get(i - 1), sorted.get(i)));
      }
    }
    return List.copyOf(sorted);
  }

  /**
   * Returns the highest cost that a limit can ever allow.
   *
   * @param quotas the quotas of one limit
   * @return the smallest burst; {@link Long#MAX_VALUE} for an empty list
   */
  public static long leastBurst(List<Quota> quotas) {
    long least = Long.MAX_VALUE;
    for (Quota quota : quotas) {
      least = Math.min(least, quota.burst);
    }
    return least;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Quota that
        && burst == that.burst
        && count == that.count
        && periodNanos == that.periodNanos;
  }

  @Override
  public int hashCode() {
    return Objects.hash(burst, count, periodNanos);
  }

  @Override
  public String toString() {
    return "burst %s, %s per %s".formatted(burst, count, period());
  }
}
