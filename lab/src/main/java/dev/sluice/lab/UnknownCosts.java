// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.Reservation.Costs;
import dev.sluice.Reservation.Receipt;
import dev.sluice.Reservation.Settlement;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.function.Function;

/**
 * A simulation of calls whose cost is known only after the call, such as calls to a language model.
 * The simulation compares several ways to charge calls. All calls spend from one bucket. The calls
 * arrive at random times. The costs of calls have a log-normal distribution: the median is 300
 * tokens, the mean is 494, and the maximum is 4,096. A call generates 50 tokens per second, and
 * lasts at least 0.5 s. A denied call is not retried.
 *
 * <p>Each call is settled with the receipt of its reservation, as if another server settled it. A
 * process that settles its own reservations refunds less if the reservations are much too large.
 * After a settlement, the process that made the reservations knows that the tokens of its later
 * reservations refill earlier. A receipt contains no information about later reservations.
 *
 * <p>The bucket is full at the start and empties in the first quarter of a run, so this quarter is
 * left out of the results. Immutable.
 *
 * @param demand the total cost of the calls, as a multiple of the limit
 */
public record UnknownCosts(Quota quota, double demand, Duration length, long seed) {

  private static final long START_NANOS = Duration.ofDays(10_000).toNanos();
  private static final double MEDIAN = 300;
  private static final double MEAN = MEDIAN * StrictMath.exp(0.5);
  private static final long PERCENTILE_95 = 1_555;
  private static final long LARGEST = 4_096;
  private static final double TOKENS_PER_NANO = 50e-9;
  private static final long SHORTEST_NANOS = 500_000_000;
  private static final long MOST_CALLS = 20_000_000;

  /**
   * Checks the values of a simulation.
   *
   * @param demand the total cost of the calls as a multiple of the limit, above 0, at most 100
   * @param length the simulated time, above 0, at most 10 years
   * @throws IllegalArgumentException if a value is out of its range, or if there are more than
   *     20,000,000 calls
   */
  public UnknownCosts {
    if (!(demand > 0 && demand <= 100)) {
      throw new IllegalArgumentException(
          "demand: found %s, expected a number above 0, at most 100".formatted(demand));
    }
    if (length.isNegative() || length.isZero() || length.compareTo(Scenario.LONGEST) > 0) {
      throw new IllegalArgumentException(
          "length: found %s, expected a duration > 0 and at most 10 years".formatted(length));
    }
    double calls = demand * length.toNanos() / quota.intervalNanos() / MEAN;
    if (calls > MOST_CALLS) {
      throw new IllegalArgumentException(
          "length: found a run of %s calls, expected at most %s; make it shorter, or lower the demand"
              .formatted(Format.whole((long) calls), Format.whole(MOST_CALLS)));
    }
  }

  /** A way to charge calls whose cost is known only at their end. */
  public enum Scheme {
    /**
     * A call is admitted if the bucket is not empty. The true cost is charged at the end of the
     * call.
     */
    AFTERWARDS("charge afterwards"),
    /**
     * A call is admitted if the bucket has the tokens for the largest cost of a call, in addition
     * to the tokens held for calls in flight. The true cost is charged at the end of the call.
     */
    HOLD("hold the largest, charge at the end"),
    /** A call reserves the largest cost, and is settled at its end. */
    LARGEST("reserve the largest, settle"),
    /** A call reserves the 95th percentile of the costs, and is settled at its end. */
    QUANTILE("reserve the 95th percentile, settle"),
    /** A call reserves the mean cost, and is settled at its end. */
    MEAN("reserve the mean, settle");

    private final String label;

    Scheme(String label) {
      this.label = label;
    }

    /** Returns a description of the scheme. */
    @Override
    public String toString() {
      return label;
    }
  }

  /**
   * The result of one scheme. All numbers are shares, where 1 means 100 %.
   *
   * @param used the true costs of the admitted calls, as a share of the tokens that the limit
   *     allows
   * @param owed the largest debt of the bucket, as a share of the burst
   * @param unused the tokens charged beyond the true costs, as a share of the tokens that the limit
   *     allows
   */
  public record Result(Scheme scheme, double used, double owed, double unused) {}

  /** Settles an admitted call. */
  @FunctionalInterface
  interface Settler {
    Settlement settle(Costs costs);
  }

  /**
   * Whether a reservation is settled in the process that made it, or elsewhere with its receipt.
   */
  enum Settling {
    IN_PROCESS,
    BY_RECEIPT
  }

  private record Call(long endNanos, long number, long cost, Settler settler) {}

  /** Simulates the same calls with each scheme. Returns the results in the order of the schemes. */
  public List<Result> run() {
    List<Result> results = new ArrayList<>();
    for (Scheme scheme : Scheme.values()) {
      results.add(run(scheme, Settling.BY_RECEIPT, BucketStore::inMemory));
    }
    return results;
  }

  /** Simulates one scheme with a store that uses the simulated clock. */
  Result run(Scheme scheme, Settling settling, Function<TimeSource, BucketStore> stores) {
    return new Run(scheme, settling, stores).result();
  }

  private final class Run {
    private final Scheme scheme;
    private final Settling settling;
    private final Random random = new Random(seed);
    private final Limiter limiter;
    private final Transaction bucket;
    private final PriorityQueue<Call> open =
        new PriorityQueue<>(
            Comparator.comparingLong(Call::endNanos).thenComparingLong(Call::number));
    private final long countedNanos = length.toNanos() / 4;
    private long nowNanos;
    private double used;
    private double unused;
    private long owed;

    Run(Scheme scheme, Settling settling, Function<TimeSource, BucketStore> stores) {
      this.scheme = scheme;
      this.settling = settling;
      LimitName name = LimitName.builder(1, "Tokens").jitter(0).build();
      Limits limits =
          Limits.builder(Catalogue.of(name))
              .limit("Tokens", quota)
              .debt("Tokens", Limits.DEEPEST_DEBT)
              .build();
      this.limiter =
          Limiter.of(new CurrentLimits(limits), stores.apply(() -> START_NANOS + nowNanos));
      this.bucket = limiter.transaction("Tokens", "all");
    }

    Result result() {
      double perNano = demand / quota.intervalNanos() / MEAN;
      long arrivesNanos = 0;
      for (long number = 0; ; number++) {
        arrivesNanos += (long) (-StrictMath.log(1 - random.nextDouble()) / perNano);
        long cost =
            Math.min(
                Math.max(Math.round(MEDIAN * StrictMath.exp(random.nextGaussian())), 1), LARGEST);
        endUntil(Math.min(arrivesNanos, length.toNanos()));
        if (arrivesNanos >= length.toNanos()) {
          break;
        }
        nowNanos = arrivesNanos;
        arrive(number, cost);
      }
      double allowed = (length.toNanos() - countedNanos) / (double) quota.intervalNanos();
      return new Result(scheme, used / allowed, owed / (double) quota.burst(), unused / allowed);
    }

    private void arrive(long number, long cost) {
      long lasts = Math.max((long) (cost / TOKENS_PER_NANO), SHORTEST_NANOS);
      boolean mayPass =
          scheme != Scheme.HOLD
              || limiter.check("Tokens", "all", 0).remaining() >= (open.size() + 1) * LARGEST;
      if (mayPass) {
        Reservation reservation = limiter.reserve(reserved());
        if (reservation.allowed()) {
          open.add(new Call(nowNanos + lasts, number, cost, settler(reservation)));
        }
      }
    }

    private Settler settler(Reservation reservation) {
      if (settling == Settling.IN_PROCESS) {
        return reservation::settle;
      }
      Receipt receipt = reservation.receipt();
      // This process forgets the reservation, as if another process got the receipt.
      reservation.close();
      return costs -> limiter.settle(receipt, costs);
    }

    private Transaction reserved() {
      return switch (scheme) {
        case AFTERWARDS, HOLD -> bucket.withCost(1);
        case LARGEST -> reserved(LARGEST);
        case QUANTILE -> reserved(PERCENTILE_95);
        case MEAN -> reserved((long) MEAN);
      };
    }

    private Transaction reserved(long estimate) {
      return bucket.withCost(Math.min(estimate, quota.burst()));
    }

    private void endUntil(long nanos) {
      while (!open.isEmpty() && open.peek().endNanos <= nanos) {
        Call call = open.remove();
        nowNanos = call.endNanos;
        Settlement.Part part = call.settler.settle(Costs.of("Tokens", call.cost)).parts().get(0);
        owed = Math.max(owed, part.owed());
        if (nowNanos >= countedNanos) {
          used += call.cost;
          unused += part.charged() - call.cost;
        }
      }
    }
  }

  /**
   * Returns the lines of a table with one line per scheme, and a sentence that compares the
   * schemes.
   */
  public List<String> lines(List<Result> results) {
    List<String> lines = new ArrayList<>();
    lines.add(
        "calls of 0.5 to 82 s that cost 494 tokens on average and at most 4,096, at %s times the limit %s, %s, seed %s"
            .formatted(
                Format.brief(demand),
                Format.quota(quota),
                Format.duration(length.toNanos()),
                seed));
    lines.add("");
    lines.add(row("", "used", "owed, of a burst", "charged, not used"));
    for (Result result : results) {
      lines.add(
          row(
              result.scheme.label,
              percent(result.used),
              percent(result.owed),
              percent(result.unused)));
    }
    lines.add("");
    lines.add("Verdict: " + verdict(results));
    return lines;
  }

  private static String row(String label, String used, String owed, String unused) {
    return String.format(Locale.ROOT, "%-35s  %6s  %16s  %17s", label, used, owed, unused);
  }

  private static String percent(double share) {
    return Math.round(100 * share) + " %";
  }

  private static Result find(List<Result> results, Scheme scheme) {
    return results.stream().filter(result -> result.scheme == scheme).findFirst().orElseThrow();
  }

  /**
   * Returns a sentence about the best scheme: of the schemes that use nearly the most tokens, the
   * scheme with the smallest debt.
   */
  private static String verdict(List<Result> results) {
    double most = results.stream().mapToDouble(Result::used).max().orElseThrow();
    Result best =
        results.stream()
            .filter(result -> result.used > most - 0.02)
            .min(Comparator.comparingDouble(Result::owed))
            .orElseThrow();
    Result afterwards = find(results, Scheme.AFTERWARDS);
    Result hold = find(results, Scheme.HOLD);
    return "\"%s\" uses %s of the limit and owes up to %s of a burst; \"%s\" owes up to %s, and \"%s\" uses %s."
        .formatted(
            best.scheme,
            percent(best.used),
            percent(best.owed),
            afterwards.scheme,
            percent(afterwards.owed),
            hold.scheme,
            percent(hold.used));
  }
}
