// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.stats;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.sluice.Decision;
import dev.sluice.LimiterObserver;
import dev.sluice.Transaction;
import dev.sluice.limit.LimitName;
import dev.sluice.server.stats.TopDenied.SpaceSaving.Estimate;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The ids that each limit denied most in the last 5 to 10 minutes. {@link Denials} uses another
 * object of this class to find the ids that are charged most. Ids are often personal data, so a
 * server counts denials by id only if its operator enables this count.
 *
 * <p>Memory is bounded: at most {@link #MOST_LIMITS} limits, two windows for each limit, and {@link
 * #COUNTERS} ids in each window. All ids together take at most 4 MB if an id has 40 characters, and
 * 36 MB if an id has 1024 characters, the longest length. Denials in shadow mode are not counted.
 * Thread-safe; {@code count} locks the limit's counters.
 */
public final class TopDenied implements LimiterObserver {

  /** The length of a counting window. */
  public static final Duration WINDOW = Duration.ofMinutes(5);

  /** How often {@link #forget} must be called. */
  public static final Duration FORGET_EVERY = Duration.ofSeconds(10);

  /** The most ids that {@link #top} returns for one limit. */
  public static final int SHOWN = 20;

  /**
   * The largest number of limits with counted ids: the limits that deny first after the startup.
   */
  public static final int MOST_LIMITS = 64;

  static final int COUNTERS = 128;

  private final LongSupplier nanoTime;
  private final Map<String, Windows> byLimit = new ConcurrentHashMap<>();

  public TopDenied() {
    this(System::nanoTime);
  }

  TopDenied(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
  }

  @Override
  public void decided(Act act, Decision decision, long elapsedNanos) {
    Transaction transaction = decision.transaction();
    if (act == Act.SPEND && decision.denied() && transaction != null && !transaction.isShadow()) {
      count(transaction.name().name(), transaction.id(), 1);
    }
  }

  @Override
  public void spent(LimitName limit, Spent spends, long elapsedNanos) {
    for (int i = 0; i < spends.count(); i++) {
      if (!spends.allowed(i)) {
        decided(Act.SPEND, spends.decision(i), elapsedNanos);
      }
    }
  }

  void count(String limit, String id, long more) {
    Windows known = byLimit.get(limit);
    Windows windows = known == null ? watch(limit) : known;
    if (windows != null) {
      windows.add(id, more, nanoTime.getAsLong());
    }
  }

  private synchronized @Nullable Windows watch(String limit) {
    return byLimit.size() < MOST_LIMITS
        ? byLimit.computeIfAbsent(limit, name -> new Windows(nanoTime.getAsLong()))
        : byLimit.get(limit);
  }

  /** Drops the ids that are older than two windows, or will be before the next call. */
  public void forget() {
    long nextNanos = nanoTime.getAsLong() + FORGET_EVERY.toNanos();
    byLimit.values().forEach(windows -> windows.forget(nextNanos));
  }

  /** Returns the most denied ids of each limit that denies, the most denied id first. */
  public Map<String, List<Denied>> top() {
    Map<String, List<Denied>> top = new TreeMap<>();
    byLimit.forEach(
        (limit, windows) -> {
          List<Denied> ids = windows.top(nanoTime.getAsLong());
          if (!ids.isEmpty()) {
            top.put(limit, ids);
          }
        });
    return top;
  }

  /** Returns how many ids are in memory, counted once per window. */
  int kept() {
    return byLimit.values().stream().mapToInt(Windows::kept).sum();
  }

  /** The number of denials of an id, as a range. */
  public record Denied(String id, long atLeast, long atMost) {}

  /** The current window of a limit, and the previous window. */
  private static final class Windows {

    @GuardedBy("this")
    private SpaceSaving current = new SpaceSaving(COUNTERS);

    @GuardedBy("this")
    private @Nullable SpaceSaving last;

    @GuardedBy("this")
    private long startNanos;

    Windows(long nowNanos) {
      this.startNanos = nowNanos;
    }

    synchronized void add(String id, long more, long nowNanos) {
      turn(nowNanos);
      current.add(id, more);
    }

    synchronized void forget(long nextNanos) {
      turn(nextNanos);
    }

    @GuardedBy("this")
    private void turn(long nowNanos) {
      long windows = (nowNanos - startNanos) / WINDOW.toNanos();
      if (windows > 0) {
        last = windows == 1 ? current : null;
        current = new SpaceSaving(COUNTERS);
        startNanos += windows * WINDOW.toNanos();
      }
    }

    synchronized int kept() {
      return current.counters.size() + (last == null ? 0 : last.counters.size());
    }

    synchronized List<Denied> top(long nowNanos) {
      turn(nowNanos);
      Map<String, Denied> sums = new HashMap<>();
      SpaceSaving before = last == null ? new SpaceSaving(COUNTERS) : last;
      addAll(before, current, sums);
      addAll(current, before, sums);
      return sums.values().stream()
          .sorted(Comparator.comparingLong(Denied::atMost).reversed().thenComparing(Denied::id))
          .limit(SHOWN)
          .toList();
    }

    /** Adds the estimates of the window {@code from} to {@code sums}. */
    private static void addAll(SpaceSaving from, SpaceSaving other, Map<String, Denied> sums) {
      for (Estimate one : from.estimates()) {
        sums.merge(
            one.item(),
            new Denied(one.item(), one.atLeast(), one.atMost() + other.mostUncounted()),
            (first, second) ->
                new Denied(
                    one.item(),
                    first.atLeast() + second.atLeast(),
                    first.atMost()
                        + second.atMost()
                        - other.mostUncounted()
                        - from.mostUncounted()));
      }
    }
  }

  /*
   * Space-Saving (Metwally, Agrawal, El Abbadi: "Efficient computation of frequent and top-k
   * elements in data streams", 2005). The algorithm has m counters. If an item has a counter, the
   * counter is incremented. An item without a counter takes over the counter with the smallest
   * count, and this count becomes the item's error. A counter is never below the true count of its
   * item, and exceeds the true count by at most the item's error. After N items, no error exceeds N
   * / m, and every item that occurred more than N / m times has a counter. add(item, n) has the
   * same effect as adding the item n times.
   */

  /** The most frequent items of a stream, in bounded memory. Not thread-safe. */
  static final class SpaceSaving {

    private final int capacity;
    private final Map<String, Counter> counters = new HashMap<>();

    /** Makes an object with at most {@code capacity} counters; {@code capacity} is at least 1. */
    SpaceSaving(int capacity) {
      this.capacity = capacity;
    }

    /** Counts an item. Searches all counters if the item is new and no counter is free. */
    void add(String item, long more) {
      Counter known = counters.get(item);
      if (known != null) {
        known.count += more;
      } else if (counters.size() < capacity) {
        counters.put(item, new Counter(item, more, 0));
      } else {
        Counter smallest = smallest();
        counters.remove(smallest.item);
        counters.put(item, new Counter(item, smallest.count + more, smallest.count));
      }
    }

    private Counter smallest() {
      return counters.values().stream()
          .min(Comparator.comparingLong(counter -> counter.count))
          .orElseThrow();
    }

    /** Returns the highest number of times that an item without a counter can have occurred. */
    long mostUncounted() {
      return counters.size() < capacity ? 0 : smallest().count;
    }

    List<Estimate> estimates() {
      return counters.values().stream()
          .map(counter -> new Estimate(counter.item, counter.count - counter.error, counter.count))
          .toList();
    }

    /** The lowest and the highest possible number of occurrences of an item. */
    record Estimate(String item, long atLeast, long atMost) {}

    private static final class Counter {
      private final String item;
      private final long error;
      private long count;

      Counter(String item, long count, long error) {
        this.item = item;
        this.count = count;
        this.error = error;
      }
    }
  }
}
