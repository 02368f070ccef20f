// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.stats;

import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/*
 * Space-Saving (Metwally, Agrawal, El Abbadi: "Efficient computation of frequent and top-k elements
 * in data streams", 2005). A fixed number m of counters. An item that has one is counted; a new one
 * takes over the smallest counter, whose count becomes the error of the new item.
 *
 * After N items, a counter is at most its error above the truth and never below it. No error is
 * above N / m. Each item that came more than N / m times has a counter.
 */

/** The items that came most often, in bounded memory. Not thread-safe. */
final class SpaceSaving {

  private final int capacity;
  private final Map<String, Counter> counters = new HashMap<>();

  /**
   * Makes a sketch.
   *
   * @param capacity the number of counters, at least 1
   */
  SpaceSaving(int capacity) {
    this.capacity = capacity;
  }

  /** Counts an item; takes a scan of all counters where the item has none. */
  void add(String item) {
    Counter known = counters.get(item);
    if (known != null) {
      known.count++;
    } else if (counters.size() < capacity) {
      counters.put(item, new Counter(item, 1, 0));
    } else {
      Counter smallest = smallest();
      counters.remove(smallest.item);
      counters.put(item, new Counter(item, smallest.count + 1, smallest.count));
    }
  }

  private Counter smallest() {
    return counters.values().stream()
        .min(Comparator.comparingLong(counter -> counter.count))
        .orElseThrow();
  }

  /** The most that an item can have come without a counter of its own. */
  long mostUncounted() {
    return counters.size() < capacity ? 0 : smallest().count;
  }

  /** All that have a counter, in no order. */
  List<Estimate> estimates() {
    return counters.values().stream()
        .map(counter -> new Estimate(counter.item, counter.count - counter.error, counter.count))
        .toList();
  }

  /** How often an item came: at least and at most. */
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
