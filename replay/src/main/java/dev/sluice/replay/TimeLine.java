// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import dev.sluice.replay.ReplayResult.Bin;
import dev.sluice.replay.ReplayResult.Series;
import dev.sluice.replay.ReplayResult.WorstMinute;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The numbers of requests over time, and the minutes with denied requests. Stores at most 100,000
 * bins. If a log needs more bins, all bins become twice as long. Not thread-safe.
 */
final class TimeLine {

  private static final long MINUTE = Duration.ofMinutes(1).toNanos();
  private static final int MOST_BINS = 100_000;

  private final ClientCounts clients;
  private final boolean keepsMinutes;
  private long binNanos = MINUTE;
  private final TreeMap<Long, long[]> bins = new TreeMap<>();
  private long binFrom; // the start of the last request's bin
  private long binTo;
  private long[] bin = new long[3];
  private final Map<Integer, long[]> ofMinute = new HashMap<>();
  private long minute = Long.MIN_VALUE;
  private long minuteDenied;
  private final List<WorstMinute> minutes = new ArrayList<>();

  /**
   * Creates an empty time line. Stores every minute with a denied request, or only the minute with
   * the most denied requests.
   */
  TimeLine(ClientCounts clients, boolean keepsMinutes) {
    this.clients = clients;
    this.keepsMinutes = keepsMinutes;
  }

  /** Adds a request. Requests must be added in the order of time. */
  void add(long at, boolean isDenied, boolean otherDenies, int client) {
    if (at < binFrom || at >= binTo) {
      while (bins.size() >= MOST_BINS) {
        coarsen();
      }
      long number = Math.floorDiv(at, binNanos);
      binFrom = number * binNanos;
      binTo = binFrom + binNanos;
      bin = bins.computeIfAbsent(number, unused -> new long[3]);
    }
    bin[0]++;
    bin[1] += isDenied ? 1 : 0;
    bin[2] += otherDenies ? 1 : 0;
    if (isDenied) {
      inMinute(Math.floorDiv(at, MINUTE), client);
    }
  }

  private void coarsen() {
    TreeMap<Long, long[]> fine = new TreeMap<>(bins);
    bins.clear();
    binNanos *= 2;
    fine.forEach(
        (number, counts) -> {
          long[] sum = bins.computeIfAbsent(Math.floorDiv(number, 2L), unused -> new long[3]);
          for (int i = 0; i < sum.length; i++) {
            sum[i] += counts[i];
          }
        });
  }

  private void inMinute(long number, int client) {
    if (number != minute) {
      endMinute();
      minute = number;
    }
    minuteDenied++;
    ofMinute.computeIfAbsent(client, unused -> new long[1])[0]++;
  }

  private void endMinute() {
    boolean isWorst = minutes.isEmpty() || minuteDenied > minutes.get(0).denied();
    if (minuteDenied > 0 && (keepsMinutes || isWorst)) {
      if (!keepsMinutes) {
        minutes.clear();
      }
      minutes.add(
          ofMinute.entrySet().stream()
              .map(
                  one ->
                      new WorstMinute(
                          minute * MINUTE,
                          minuteDenied,
                          one.getKey() < 0 ? "?" : clients.name(one.getKey()),
                          one.getValue()[0]))
              .min(WorstMinute.BY_CLIENT)
              .orElseThrow());
    }
    ofMinute.clear();
    minuteDenied = 0;
  }

  List<WorstMinute> minutes() {
    endMinute();
    return List.copyOf(minutes);
  }

  /** Returns the first minute with the most denied requests; null if there are no minutes. */
  static @Nullable WorstMinute worst(List<WorstMinute> minutes) {
    WorstMinute worst = null;
    for (WorstMinute one : minutes) {
      worst = worst == null || one.denied() > worst.denied() ? one : worst;
    }
    return worst;
  }

  void join(Series other) {
    while (binNanos < other.binNanos()) {
      coarsen();
    }
    for (Bin one : other.bins()) {
      long[] sum =
          bins.computeIfAbsent(Math.floorDiv(one.atNanos(), binNanos), unused -> new long[3]);
      sum[0] += one.requests();
      sum[1] += one.denied();
      sum[2] += one.otherDenied();
    }
    while (bins.size() > MOST_BINS) {
      coarsen();
    }
  }

  /** Returns whether a bin of the time line can have a given length. */
  static boolean isLength(long nanos) {
    return nanos >= MINUTE && nanos % MINUTE == 0 && Long.bitCount(nanos / MINUTE) == 1;
  }

  Series series() {
    List<Bin> series = new ArrayList<>();
    bins.forEach(
        (number, counts) ->
            series.add(new Bin(number * binNanos, counts[0], counts[1], counts[2])));
    return new Series(binNanos, series);
  }
}
