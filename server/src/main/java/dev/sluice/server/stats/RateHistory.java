// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.stats;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.sluice.server.base.Periodic;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The decisions of the last minute, second by second: what the meters have counted, read once a
 * second. A decision costs nothing more than its meter.
 *
 * <p>Bounded: {@link #SECONDS} counts for each outcome of at most {@link #MOST_LIMITS} limits, at
 * most 400 KB. Thread-safe; {@link #rates} waits at most for a reading of the meters.
 */
public final class RateHistory implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(RateHistory.class);

  /** How many seconds are kept. */
  public static final int SECONDS = 60;

  /** The most limits with a history: the limits that decide first after the start. */
  public static final int MOST_LIMITS = 256;

  private static final List<String> METERS =
      List.of("ratelimits.decisions", "ratelimits.new.buckets");

  private final MeterRegistry meters;
  private final ScheduledExecutorService clock =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "sluice-rates");
            thread.setDaemon(true);
            return thread;
          });

  @GuardedBy("this")
  private final Map<String, Map<SpendOutcome, Series>> byLimit = new TreeMap<>();

  @GuardedBy("this")
  private int next;

  RateHistory(MeterRegistry meters) {
    this.meters = meters;
  }

  /**
   * Starts to read the meters, once a second, until the history is closed.
   *
   * @param meters the limiter's meters
   * @return a history without counts
   */
  public static RateHistory start(MeterRegistry meters) {
    RateHistory history = new RateHistory(meters);
    Runnable sample = Periodic.task(log, "reading the rates of the last second", history::sample);
    var unused = history.clock.scheduleAtFixedRate(sample, 0, 1, TimeUnit.SECONDS);
    return history;
  }

  /** Ends a second: its counts are what the meters have counted since the last call. */
  synchronized void sample() {
    try {
      for (String meter : METERS) {
        meters.find(meter).counters().forEach(this::count);
      }
    } finally {
      next = (next + 1) % SECONDS; // otherwise the next second would overwrite this one
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
          series.count(counter.count(), next);
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

  /**
   * Returns the counts of the last {@link #SECONDS} whole seconds.
   *
   * @return the limits that have decided since the start, by name
   */
  public synchronized List<Rates> rates() {
    List<Rates> all = new ArrayList<>();
    for (Map.Entry<String, Map<SpendOutcome, Series>> limit : byLimit.entrySet()) {
      Map<SpendOutcome, int[]> rings = new EnumMap<>(SpendOutcome.class);
      limit.getValue().forEach((outcome, series) -> rings.put(outcome, series.ring));
      all.add(Rates.of(limit.getKey(), rings, next));
    }
    return all;
  }

  /** Ends the reading; the counts stay. */
  @Override
  public void close() {
    clock.shutdownNow();
  }

  /** The counts of one outcome of one limit. Guarded by the history. */
  private static final class Series {
    private final SpendOutcome outcome;
    private final int[] ring = new int[SECONDS];
    private double total;

    Series(SpendOutcome outcome) {
      this.outcome = outcome;
    }

    void count(double newTotal, int at) {
      ring[at] = (int) Math.min(newTotal - total, Integer.MAX_VALUE);
      total = newTotal;
    }
  }

  /**
   * How many spends of a limit had which outcome, second by second. Immutable and thread-safe.
   *
   * @param limit the limit's name
   * @param perSecond the counts of the last {@link RateHistory#SECONDS} seconds, oldest first; an
   *     outcome that did not occur is missing
   */
  public record Rates(String limit, Map<SpendOutcome, List<Integer>> perSecond) {

    /**
     * Copies the counts.
     *
     * @param limit the limit's name
     * @param perSecond the counts
     */
    public Rates {
      perSecond = Map.copyOf(perSecond);
    }

    static Rates of(String limit, Map<SpendOutcome, int[]> rings, int next) {
      Map<SpendOutcome, List<Integer>> counts = new EnumMap<>(SpendOutcome.class);
      rings.forEach(
          (outcome, ring) -> {
            if (Arrays.stream(ring).anyMatch(count -> count > 0)) {
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

  /** The outcome of a spend. An allowed spend may also start a bucket. */
  public enum SpendOutcome {
    /** The spend was allowed. */
    ALLOWED("allowed"),
    /** The spend was denied. */
    DENIED("denied"),
    /** A rule in shadow mode would have allowed the spend. */
    SHADOW_ALLOWED("shadow_allowed"),
    /** A rule in shadow mode would have denied the spend, which passed. */
    SHADOW_DENIED("shadow_denied"),
    /** The spend took tokens from a full bucket, so that the store had to make room for it. */
    NEW_BUCKETS("");

    private final String label;

    SpendOutcome(String label) {
      this.label = label;
    }

    /**
     * Returns the meter's value of the label {@code decision}; empty if the meter has no such
     * label.
     */
    String label() {
      return label;
    }
  }
}
