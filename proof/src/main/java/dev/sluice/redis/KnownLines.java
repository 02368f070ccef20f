// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.Insides;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The buckets for which callers wait, as all processes see them together. For one thread. */
final class KnownLines {

  private final Map<String, Integer> underWay = new HashMap<>(); // calls, by bucket key
  private final Set<String> disturbed = new HashSet<>(); // bucket keys
  private final Set<Integer> fixed = new HashSet<>(); // entries that buckets share
  private final Map<String, Long> lastPassed = new HashMap<>(); // by process and bucket key

  private final Map<String, List<Long>> begun = new HashMap<>(); // moments, by bucket key
  private final Map<String, Long> leavesUntil = new HashMap<>(); // by bucket key
  private final Map<String, Integer> leaving = new HashMap<>(); // callers, by bucket key
  private final World world;

  KnownLines(World world) {
    this.world = world;
  }

  /** A call begins that asks for a bucket. */
  void began(String bucketKey, boolean keepsLines) {
    underWay.merge(bucketKey, 1, Integer::sum);
    begun.computeIfAbsent(bucketKey, key -> new ArrayList<>()).add(world.now());
    if (!keepsLines) {
      disturbed(bucketKey);
    } else if (world.now() < leavesUntil.getOrDefault(bucketKey, Long.MIN_VALUE)) {
      fixed.add(Insides.entryOf(bucketKey));
    }
  }

  /**
   * A caller gives up: if another call to its bucket followed its own, or crosses the withdrawal on
   * its way, what it took may stay taken.
   *
   * @param since when the call began that it gives up
   * @param nanos how long a call and what is given back are on their way
   */
  void leaves(String bucketKey, long since, long nanos) {
    long from = Math.min(since, world.now() - nanos);
    long crossing =
        begun.getOrDefault(bucketKey, List.of()).stream().filter(one -> one >= from).count();
    if (crossing > (since >= from ? 1 : 0)) {
      fixed.add(Insides.entryOf(bucketKey));
    }
    leavesUntil.put(bucketKey, world.now() + nanos);
    leaving.merge(bucketKey, 1, Integer::sum);
  }

  /** What a caller that gave up had taken is back by now. */
  void left(String bucketKey) {
    leaving.merge(bucketKey, -1, Integer::sum);
  }

  void ended(String bucketKey) {
    underWay.merge(bucketKey, -1, Integer::sum);
  }

  /** Something other than waiting and spending moves a bucket's TAT, or nobody knows what does. */
  void disturbed(String bucketKey) {
    disturbed.add(bucketKey);
    fixed.add(Insides.entryOf(bucketKey));
  }

  boolean isDisturbed(String bucketKey) {
    return disturbed.contains(bucketKey);
  }

  /**
   * Returns whether what a caller gives up may stay taken: its bucket was disturbed, or another one
   * that a limiter can't tell from it.
   */
  boolean mayStayTaken(String bucketKey) {
    return fixed.contains(Insides.entryOf(bucketKey));
  }

  /** Returns whether no call is under way to a bucket, and nobody gives up. */
  boolean isCalm(String bucketKey) {
    return underWay.getOrDefault(bucketKey, 0) == 0 && leaving.getOrDefault(bucketKey, 0) == 0;
  }

  /**
   * A caller that had to wait passes. Returns whether it overtakes nobody of its process.
   *
   * @param place of its spend among those of its bucket
   */
  boolean isInOrder(int process, String bucketKey, long place) {
    Long last = lastPassed.merge("p" + process + " " + bucketKey, place, Math::max);
    return last == place;
  }
}
