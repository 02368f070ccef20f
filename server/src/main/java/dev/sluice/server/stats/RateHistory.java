// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.stats;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.sluice.server.base.Periodic;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The number of decisions in each second of the last minute, and in each five minutes of the last
 * day. The history reads the server's metrics once a second, and adds no work to a decision.
 *
 * <p>Memory is bounded: each outcome of each limit takes 1.4 KB, so {@link #MOST_LIMITS} limits
 * that both allow and deny take 14 MB. Thread-safe; methods wait at most while the metrics are
 * read.
 */
public final class RateHistory implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(RateHistory.class);

  /** How many seconds the history covers second by second. */
  public static final int SECONDS = 60;

  /** The length in seconds of one step in the history of the last day. */
  public static final int DAY_STEP_SECONDS = 300;

  /**
   * The number of steps in the history of the last day: one day, and the newest, incomplete step.
   */
  public static final int DAY_STEPS = 24 * 60 * 60 / DAY_STEP_SECONDS + 1;

  /** The most limits with a history; later limits have none until the server restarts. */
  public static final int MOST_LIMITS = 5_000;

  /** How long a limit counts as degraded after its last decision by a failure rule. */
  private static final long DEGRADED_NANOS = Duration.ofMinutes(1).toNanos();

  private static final List<String> METERS =
      List.of("ratelimits.decisions", "ratelimits.new.buckets");

  private final MeterRegistry meters;
  private final ScheduledExecutorService clock = Periodic.scheduler("sluice-rates");

  @GuardedBy("this")
  private final Map<String, Map<SpendOutcome, Series>> byLimit = new TreeMap<>();

  @GuardedBy("this")
  private final Map<String, Degraded> degraded = new TreeMap<>();

  @GuardedBy("this")
  private int next;

  @GuardedBy("this")
  private int step;

  @GuardedBy("this")
  private int secondsOfStep;

  private final InstantSource time;
  private final LongSupplier nanos;

  RateHistory(MeterRegistry meters) {
    this(meters, InstantSource.system(), System::nanoTime);
  }

  /** Makes a history. */
  RateHistory(MeterRegistry meters, InstantSource time, LongSupplier nanos) {
    this.meters = meters;
    this.time = time;
    this.nanos = nanos;
  }

  /** Starts a history, which reads the metrics once a second until {@link #close}. */
  public static RateHistory start(MeterRegistry meters) {
    RateHistory history = new RateHistory(meters);
    Runnable sample = Periodic.task(log, "reading the rates of the last second", history::sample);
    var unused = history.clock.scheduleAtFixedRate(sample, 0, 1, TimeUnit.SECONDS);
    return history;
  }

  /** Counts the last second: the increase of the metrics since the last call of this method. */
  synchronized void sample() {
    try {
      beginSecond();
      for (String meter : METERS) {
        meters.find(meter).counters().forEach(this::count);
      }
      meters.find("ratelimits.degraded").counters().forEach(this::countDegraded);
    } finally {
      next = (next + 1) % SECONDS; // otherwise the next second would overwrite this one
    }
  }

  @GuardedBy("this")
  private void beginSecond() {
    boolean beginsStep = secondsOfStep == DAY_STEP_SECONDS;
    if (beginsStep) {
      step = (step + 1) % DAY_STEPS;
      secondsOfStep = 0;
    }
    secondsOfStep++;
    for (Map<SpendOutcome, Series> all : byLimit.values()) {
      for (Series series : all.values()) {
        series.begin(next, beginsStep ? step : -1);
      }
    }
  }

  @GuardedBy("this")
  private void countDegraded(Counter counter) {
    String limit = Objects.requireNonNullElse(counter.getId().getTag("limit"), "");
    Degraded known = degraded.get(limit);
    double total = counter.count();
    if (total > (known == null ? 0 : known.total)) {
      long nowNanos = nanos.getAsLong();
      Instant since = known != null && known.holdsAt(nowNanos) ? known.since : time.instant();
      degraded.put(limit, new Degraded(since, nowNanos, total));
    }
  }

  /**
   * Returns the degraded limits, for which a failure rule decided within the last minute, each with
   * the time when it became degraded. The time stays the same while the limit's failure rule
   * decides at least once a minute.
   */
  public synchronized Map<String, Instant> degraded() {
    long nowNanos = nanos.getAsLong();
    Map<String, Instant> current = new TreeMap<>();
    degraded.forEach(
        (limit, one) -> {
          if (one.holdsAt(nowNanos)) {
            current.put(limit, one.since);
          }
        });
    return current;
  }

  private record Degraded(Instant since, long lastNanos, double total) {
    private boolean holdsAt(long nowNanos) {
      return nowNanos - lastNanos < DEGRADED_NANOS;
    }
  }

  @GuardedBy("this")
  private void count(Counter counter) {
    String limit = Objects.requireNonNullElse(counter.getId().getTag("limit"), "");
    if (byLimit.containsKey(limit) || byLimit.size() < MOST_LIMITS) {
      String decision = Objects.requireNonNullElse(counter.getId().getTag("decision"), "");
      Map<SpendOutcome, Series> all = byLimit.computeIfAbsent(limit, RateHistory::series);
      for (Series series : all.values()) {
        if (series.outcome.label().equals(decision)) {
          series.count(counter.count(), next, step);
        }
      }
    }
  }

  private static Map<SpendOutcome, Series> series(String limit) {
    Map<SpendOutcome, Series> series = new EnumMap<>(SpendOutcome.class);
    for (SpendOutcome outcome : SpendOutcome.values()) {
      series.put(outcome, new Series(outcome));
    }
    return series;
  }

  /** Returns the counts of the last {@link #SECONDS} whole seconds, sorted by name. */
  public synchronized List<Rates> rates(Predicate<String> which) {
    List<Rates> all = new ArrayList<>();
    byLimit.forEach(
        (limit, series) -> {
          if (which.test(limit)) {
            all.add(Rates.of(limit, series, one -> one.ring, next));
          }
        });
    return all;
  }

  /**
   * Returns the sums of the counts of the last {@link #SECONDS} whole seconds.
   *
   * @return the sums by the limit's name and the outcome; limits and outcomes without decisions are
   *     missing
   */
  public Map<String, Map<SpendOutcome, Long>> totals(Predicate<String> which) {
    return totals(which, one -> one.minute);
  }

  /**
   * Returns the sums of the counts over the last {@code steps} steps. The sums include the newest
   * step of the history, which has not ended.
   *
   * @param steps how many steps, 1 to {@link #DAY_STEPS}
   */
  public synchronized Map<String, Map<SpendOutcome, Long>> totals(
      Predicate<String> which, int steps) {
    int newest = step;
    return totals(which, one -> one.sum(newest, steps));
  }

  private synchronized Map<String, Map<SpendOutcome, Long>> totals(
      Predicate<String> which, ToLongFunction<Series> count) {
    Map<String, Map<SpendOutcome, Long>> all = new TreeMap<>();
    byLimit.forEach(
        (limit, series) -> {
          Map<SpendOutcome, Long> sums = new EnumMap<>(SpendOutcome.class);
          series.forEach(
              (outcome, one) -> {
                long sum = count.applyAsLong(one);
                if (sum > 0) {
                  sums.put(outcome, sum);
                }
              });
          if (!sums.isEmpty() && which.test(limit)) {
            all.put(limit, sums);
          }
        });
    return all;
  }

  /** Returns the counts of one limit in the last day, {@link #DAY_STEPS} for each outcome. */
  public synchronized Day day(String limit) {
    Map<SpendOutcome, Series> series = byLimit.getOrDefault(limit, Map.of());
    return new Day(
        secondsOfStep, Rates.of(limit, series, one -> one.day, (step + 1) % DAY_STEPS).counts());
  }

  /** Stops reading the metrics; the counts are kept. */
  @Override
  public void close() {
    clock.shutdownNow();
  }

  /** The counts of one outcome of one limit, guarded by the lock of the {@link RateHistory}. */
  private static final class Series {
    private final SpendOutcome outcome;
    private int @Nullable [] ring; // null until the outcome occurs
    private int @Nullable [] day;
    private long minute;
    private double total;

    Series(SpendOutcome outcome) {
      this.outcome = outcome;
    }

    /**
     * Clears the counts that a new second overwrites; {@code step} is the new step of the day, or
     * -1 if no step begins.
     */
    void begin(int second, int step) {
      if (ring != null) {
        minute -= ring[second];
        ring[second] = 0;
      }
      if (day != null && step >= 0) {
        day[step] = 0;
      }
    }

    /**
     * Returns the sum of the counts in {@code steps} steps of the day, which end with {@code step}.
     */
    long sum(int step, int steps) {
      long sum = 0;
      for (int i = 0; day != null && i < steps; i++) {
        sum += day[Math.floorMod(step - i, DAY_STEPS)];
      }
      return sum;
    }

    void count(double newTotal, int second, int step) {
      int more = (int) Math.min(newTotal - total, Integer.MAX_VALUE);
      total = newTotal;
      if (more > 0) {
        ring = ring == null ? new int[SECONDS] : ring;
        day = day == null ? new int[DAY_STEPS] : day;
        ring[second] = more;
        minute += more;
        day[step] = (int) Math.min((long) day[step] + more, Integer.MAX_VALUE);
      }
    }
  }

  /**
   * The counts of one limit in the last day.
   *
   * @param lastSeconds how many seconds the newest count covers; all older counts cover {@link
   *     RateHistory#DAY_STEP_SECONDS}
   * @param counts the counts by outcome, oldest first; an outcome that did not occur is missing
   */
  public record Day(int lastSeconds, Map<SpendOutcome, List<Integer>> counts) {

    public Day {
      counts = Map.copyOf(counts);
    }
  }

  /**
   * The number of spends of a limit by outcome, for each second. Immutable and thread-safe.
   *
   * @param counts the counts of the last {@link RateHistory#SECONDS} seconds, oldest first; an
   *     outcome that did not occur is missing
   */
  public record Rates(String limit, Map<SpendOutcome, List<Integer>> counts) {

    public Rates {
      counts = Map.copyOf(counts);
    }

    private static Rates of(
        String limit,
        Map<SpendOutcome, Series> all,
        Function<Series, int @Nullable []> rings,
        int next) {
      Map<SpendOutcome, List<Integer>> counts = new EnumMap<>(SpendOutcome.class);
      all.forEach(
          (outcome, series) -> {
            int[] ring = rings.apply(series);
            if (ring != null && Arrays.stream(ring).anyMatch(count -> count > 0)) {
              counts.put(outcome, inOrder(ring, next));
            }
          });
      return new Rates(limit, counts);
    }

    private static List<Integer> inOrder(int[] ring, int next) {
      int[] ordered = new int[ring.length];
      System.arraycopy(ring, next, ordered, 0, ring.length - next);
      System.arraycopy(ring, 0, ordered, ring.length - next, next);
      return Arrays.stream(ordered).boxed().toList();
    }
  }

  /** The outcome of a spend. */
  public enum SpendOutcome {
    /** The spend was allowed. */
    ALLOWED("allowed"),
    /** The spend was denied. */
    DENIED("denied"),
    /** A limit in shadow mode would have allowed the spend. */
    SHADOW_ALLOWED("shadow_allowed"),
    /** A limit in shadow mode would have denied the spend, but shadow mode allowed it. */
    SHADOW_DENIED("shadow_denied"),
    /** The spend took tokens from a full bucket, which the store did not contain before. */
    NEW_BUCKETS("");

    private final String label;

    SpendOutcome(String label) {
      this.label = label;
    }

    /** Returns the label {@code decision} of the meter; empty if the meter has none. */
    String label() {
      return label;
    }
  }
}
