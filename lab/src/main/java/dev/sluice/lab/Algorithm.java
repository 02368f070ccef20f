// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.stream.Stream;

/*
 * All algorithms have the same limit: at most `burst` tokens at once, and a window τ = T · burst,
 * where T is the emission interval. GCRA refills an empty bucket in one window. So all algorithms
 * admit the same rate in the long run. They differ in the times at which spent tokens are refilled:
 *
 *   time bucket       all at once, one window after the first request
 *   leaky bucket      in steps, whenever the drip process runs (see Drip)
 *   GCRA              continuously, from the moment of the request
 *   sliding log       the tokens of each request, exactly one window after that request
 *   sliding counter   continuously during the next fixed window, whenever the request was
 */

/** The algorithms that can be compared, each with a name for the command line. */
public enum Algorithm {
  /** A counter that starts with the first request and expires one window later. */
  TIME_BUCKET("time-bucket", "a counter that expires after the period"),
  /** A bucket that a background process drains at intervals. */
  LEAKY_BUCKET("leaky-bucket", "a bucket that a background process drains"),
  /** Sluice's own limiter. */
  GCRA("gcra", "Sluice's own limiter"),
  /** A list of the requests that were admitted within the last window. */
  SLIDING_LOG("sliding-log", "a list of the times of admitted requests"),
  /** Two counters of fixed windows. The weight of the older window's counter falls with time. */
  SLIDING_COUNTER(
      "sliding-counter", "two counters; the weight of the older counter falls with time");

  private static final String ALL = "all";

  private final String text;
  private final String inWords;

  Algorithm(String text, String inWords) {
    this.text = text;
    this.inWords = inWords;
  }

  /**
   * Returns the algorithm with a name from {@link #names}; returns every algorithm for {@code all}.
   *
   * @throws IllegalArgumentException if no algorithm has this name; the message suggests the
   *     nearest name
   */
  public static List<Algorithm> parse(String text) {
    if (text.equals(ALL)) {
      return List.of(values());
    }
    for (Algorithm algorithm : values()) {
      if (algorithm.text.equals(text)) {
        return List.of(algorithm);
      }
    }
    List<String> names = names();
    throw new IllegalArgumentException(
        "found %s, expected one of %s%s"
            .formatted(
                SafeText.quote(text),
                String.join(", ", names),
                Suggestion.didYouMean(text, names)));
  }

  /**
   * Returns the algorithms' names for the command line, such as {@code time-bucket}, and at last
   * {@code all}.
   */
  public static List<String> names() {
    return Stream.concat(Arrays.stream(values()).map(Algorithm::toString), Stream.of(ALL)).toList();
  }

  /** Returns a description in a few words for a caption. */
  String inWords() {
    return inWords;
  }

  /** Returns the name for the command line. */
  @Override
  public String toString() {
    return text;
  }

  /** Creates a limiter with no token spent. Only a leaky bucket uses the schedule {@code drip}. */
  SimulatedLimiter start(Quota quota, Drip drip) {
    return switch (this) {
      case TIME_BUCKET -> new TimeBucket(quota);
      case LEAKY_BUCKET -> new LeakyBucket(quota, drip);
      case GCRA -> new ProductLimiter(quota);
      case SLIDING_LOG -> new SlidingLog(quota);
      case SLIDING_COUNTER -> new SlidingCounter(quota);
    };
  }

  /**
   * An algorithm together with its buckets. The caller passes the current time, which must never
   * decrease. Not thread-safe.
   */
  interface SimulatedLimiter {

    /**
     * Decides on one request.
     *
     * @param bucket the index of the bucket that is charged, from 0
     * @param cost the cost in tokens, from 0 to the burst; a cost of 0 only reads the bucket
     */
    Verdict decide(int bucket, long cost, long nowNanos);
  }

  /**
   * The decision on one request.
   *
   * @param retryAfterNanos how long the client should wait; 0 if admitted, otherwise at least 1
   * @param level the spent tokens that are not yet refilled, after the decision; from 0 to the
   *     burst
   */
  record Verdict(boolean admitted, long retryAfterNanos, double level) {

    static Verdict admitted(double level) {
      return new Verdict(true, 0, level);
    }

    static Verdict denied(long retryAfterNanos, double level) {
      return new Verdict(false, Math.max(retryAfterNanos, 1), level);
    }
  }

  /** Sluice's own limiter with its memory store, on the simulated clock. */
  private static final class ProductLimiter implements SimulatedLimiter {

    private static final LimitName NAME =
        LimitName.builder(1, "Simulated").id(IdFormat.integer()).build();

    private final Limit limit;
    private final long intervalNanos;
    private long nowNanos;

    ProductLimiter(Quota quota) {
      Limits limits = Limits.builder(Catalogue.of(NAME)).limit(NAME.name(), quota).build();
      this.limit = Limiter.of(limits, BucketStore.inMemory(() -> nowNanos)).limit(NAME.name());
      this.intervalNanos = quota.intervalNanos();
    }

    @Override
    public Verdict decide(int bucket, long cost, long newNowNanos) {
      nowNanos = newNowNanos;
      Decision decision = limit.spend(Integer.toString(bucket), cost);
      double level = (double) decision.resetInNanos() / intervalNanos;
      return decision.allowed()
          ? Verdict.admitted(level)
          : Verdict.denied(decision.retryInNanos(), level);
    }
  }

  /**
   * A counter that expires. The first request sets the counter to the burst. Each admitted request
   * subtracts its cost from the counter. The counter expires one window after the first request.
   */
  private static final class TimeBucket implements SimulatedLimiter {

    private final long burst;
    private final long windowNanos;
    private final Map<Integer, Counter> counters = new HashMap<>();

    TimeBucket(Quota quota) {
      this.burst = quota.burst();
      this.windowNanos = quota.offsetNanos();
    }

    private static final class Counter {
      private final long expiresNanos;
      private long left;

      Counter(long left, long expiresNanos) {
        this.left = left;
        this.expiresNanos = expiresNanos;
      }
    }

    @Override
    public Verdict decide(int bucket, long cost, long nowNanos) {
      Counter counter = counters.get(bucket);
      if (counter == null || counter.expiresNanos <= nowNanos) {
        if (cost == 0) {
          return Verdict.admitted(0);
        }
        counter = new Counter(burst, nowNanos + windowNanos);
        counters.put(bucket, counter);
      }
      if (counter.left < cost) {
        return Verdict.denied(counter.expiresNanos - nowNanos, (double) (burst - counter.left));
      }
      counter.left -= cost;
      return Verdict.admitted((double) (burst - counter.left));
    }
  }

  /*
   * The content of a bucket is stored as the time in which it leaks out, in whole nanoseconds. A
   * cost of c adds T·c, and the capacity of a bucket is τ. The process runs once per interval d,
   * and each run removes d from each bucket. Nothing leaks between two runs or while the process
   * stalls. Later runs do not make up for missed runs. If one run cannot drain all buckets, the
   * next run drains the remaining buckets. If no run drains every bucket, all leak too slowly.
   */

  /**
   * A bucket that requests fill and a process drains. The drain process can stall, or be too slow
   * for all buckets.
   */
  private static final class LeakyBucket implements SimulatedLimiter {

    private final long intervalNanos;
    private final long capacityNanos;
    private final long everyNanos;
    private final int bucketsPerRun;
    private final List<Drip.Stall> stalls;
    private final Map<Integer, Bucket> buckets = new HashMap<>();
    private final Queue<Bucket> active = new ArrayDeque<>();
    private long nextRunNanos;

    LeakyBucket(Quota quota, Drip drip) {
      this.intervalNanos = quota.intervalNanos();
      this.capacityNanos = quota.offsetNanos();
      this.everyNanos = drip.everyNanos(quota);
      this.bucketsPerRun = drip.bucketsPerRun() == 0 ? Integer.MAX_VALUE : drip.bucketsPerRun();
      this.stalls = drip.stalls().stream().sorted(Comparator.comparing(Drip.Stall::from)).toList();
      this.nextRunNanos = everyNanos;
    }

    private static final class Bucket {
      private long waterNanos; // the time in which the bucket's water leaks out
    }

    @Override
    public Verdict decide(int number, long cost, long nowNanos) {
      dripUntil(nowNanos);
      Bucket bucket = buckets.computeIfAbsent(number, n -> new Bucket());
      long excessNanos = bucket.waterNanos + intervalNanos * cost - capacityNanos;
      if (excessNanos > 0) {
        return Verdict.denied(waitNanos(excessNanos, nowNanos), level(bucket));
      }
      if (cost > 0) {
        if (bucket.waterNanos == 0) {
          active.add(bucket);
        }
        bucket.waterNanos += intervalNanos * cost;
      }
      return Verdict.admitted(level(bucket));
    }

    private double level(Bucket bucket) {
      return (double) bucket.waterNanos / intervalNanos;
    }

    /**
     * Returns how long a request must wait until runs of the drain process have made room for it,
     * if the process does not stall.
     */
    private long waitNanos(long excessNanos, long nowNanos) {
      long runs = (excessNanos - 1) / everyNanos + 1;
      return everyNanos - nowNanos % everyNanos + (runs - 1) * everyNanos;
    }

    private void dripUntil(long nowNanos) {
      while (nextRunNanos <= nowNanos) {
        if (active.isEmpty()) {
          nextRunNanos = firstRunFrom(nowNanos + 1);
          return;
        }
        long resumesNanos = endOfStall(nextRunNanos);
        if (resumesNanos > nextRunNanos) {
          nextRunNanos = firstRunFrom(resumesNanos);
        } else {
          run();
          nextRunNanos += everyNanos;
        }
      }
    }

    private void run() {
      for (int left = Math.min(bucketsPerRun, active.size()); left > 0; left--) {
        Bucket bucket = active.remove();
        bucket.waterNanos = Math.max(bucket.waterNanos - everyNanos, 0);
        if (bucket.waterNanos > 0) {
          active.add(bucket);
        }
      }
    }

    private long firstRunFrom(long nanos) {
      return ((nanos - 1) / everyNanos + 1) * everyNanos;
    }

    /**
     * Returns when the drain process runs next: now, or at the end of the stall if the process
     * stalls now.
     */
    private long endOfStall(long nowNanos) {
      long end = nowNanos;
      for (Drip.Stall stall : stalls) {
        if (stall.from().toNanos() <= end && end < stall.end().toNanos()) {
          end = stall.end().toNanos();
        }
      }
      return end;
    }
  }

  /**
   * A log of the requests that were admitted in the last window. No window admits more tokens than
   * the burst. A sliding log needs one entry per admitted request.
   */
  private static final class SlidingLog implements SimulatedLimiter {

    private final long burst;
    private final long windowNanos;
    private final Map<Integer, Log> logs = new HashMap<>();

    SlidingLog(Quota quota) {
      this.burst = quota.burst();
      this.windowNanos = quota.offsetNanos();
    }

    private record Admission(long atNanos, long cost) {}

    private static final class Log {
      private final Deque<Admission> admissions = new ArrayDeque<>();
      private long taken; // the sum of the costs in the log
    }

    @Override
    public Verdict decide(int bucket, long cost, long nowNanos) {
      Log log = logs.computeIfAbsent(bucket, n -> new Log());
      for (Admission oldest = log.admissions.peekFirst();
          oldest != null && oldest.atNanos <= nowNanos - windowNanos;
          oldest = log.admissions.peekFirst()) {
        log.taken -= oldest.cost;
        log.admissions.removeFirst();
      }
      if (log.taken + cost > burst) {
        return Verdict.denied(waitNanos(log, cost, nowNanos), (double) log.taken);
      }
      if (cost > 0) {
        log.taken += cost;
        log.admissions.addLast(new Admission(nowNanos, cost));
      }
      return Verdict.admitted((double) log.taken);
    }

    private long waitNanos(Log log, long cost, long nowNanos) {
      long taken = log.taken;
      for (Admission admission : log.admissions) {
        taken -= admission.cost;
        if (taken + cost <= burst) {
          return admission.atNanos + windowNanos - nowNanos;
        }
      }
      throw new IllegalArgumentException("cost " + cost + " exceeds the burst (" + burst + ")");
    }
  }

  /**
   * Two counters of fixed windows. The requests of the current window count in full. The requests
   * of the previous window count in proportion to the part of this window that a sliding window
   * still covers.
   */
  private static final class SlidingCounter implements SimulatedLimiter {

    private final long burst;
    private final long windowNanos;
    private final Map<Integer, Windows> buckets = new HashMap<>();

    SlidingCounter(Quota quota) {
      this.burst = quota.burst();
      this.windowNanos = quota.offsetNanos();
    }

    private static final class Windows {
      private long number; // the index of the current window
      private long current;
      private long previous;

      void moveTo(long now) {
        if (now != number) {
          previous = now == number + 1 ? current : 0;
          current = 0;
          number = now;
        }
      }
    }

    @Override
    public Verdict decide(int bucket, long cost, long nowNanos) {
      Windows windows = buckets.computeIfAbsent(bucket, n -> new Windows());
      windows.moveTo(nowNanos / windowNanos);
      long elapsedNanos = nowNanos % windowNanos;
      double elapsed = (double) elapsedNanos / windowNanos;
      double taken = windows.previous * (1 - elapsed) + windows.current;
      if (taken + cost > burst) {
        return Verdict.denied(waitNanos(windows, cost, elapsedNanos), taken);
      }
      windows.current += cost;
      return Verdict.admitted(taken + cost);
    }

    /**
     * Returns the time until the previous window counts so little that the request is admitted. If
     * the current window alone is too full for the request, the request must wait until the current
     * window has become the previous window.
     */
    private long waitNanos(Windows windows, long cost, long elapsedNanos) {
      long fits = burst - cost;
      double share =
          windows.current <= fits
              ? 1 - (double) (fits - windows.current) / windows.previous
              : 2 - (double) fits / windows.current;
      // Adds one nanosecond, since the arithmetic can round down.
      return (long) Math.ceil(share * windowNanos) + 1 - elapsedNanos;
    }
  }
}
