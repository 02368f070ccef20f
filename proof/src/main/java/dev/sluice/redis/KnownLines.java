// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.Insides;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The callers that wait for buckets, over all processes. For one thread. */
final class KnownLines {

  private final Map<String, Integer> underWay = new HashMap<>(); // calls in flight, by bucket key
  private final Set<String> disturbed = new HashSet<>(); // the keys of disturbed buckets
  private final Set<Integer> fixed = new HashSet<>(); // the table entries that buckets share
  private final Map<String, Long> lastPassed = new HashMap<>(); // by process and bucket key

  private final Map<String, List<Long>> begun = new HashMap<>(); // moments, by bucket key
  private final Map<String, Long> leavesUntil = new HashMap<>(); // by bucket key
  private final Map<String, Integer> leaving = new HashMap<>(); // callers, by bucket key
  private final World world;

  KnownLines(World world) {
    this.world = world;
  }

  /** Records the begin of a call for a bucket. */
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
   * Records that a caller gives up. Its tokens may stay taken if another call to the bucket follows
   * its own, or crosses the withdrawal.
   *
   * @param since when the abandoned call began
   * @param nanos the travel time of a call plus that of a withdrawal
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

  /** Records that the tokens of a caller that gave up must be back now. */
  void left(String bucketKey) {
    leaving.merge(bucketKey, -1, Integer::sum);
  }

  void ended(String bucketKey) {
    underWay.merge(bucketKey, -1, Integer::sum);
  }

  /** Records that something unknown, or other than waiting and spending, moves a bucket's TAT. */
  void disturbed(String bucketKey) {
    disturbed.add(bucketKey);
    fixed.add(Insides.entryOf(bucketKey));
  }

  boolean isDisturbed(String bucketKey) {
    return disturbed.contains(bucketKey);
  }

  /**
   * Returns whether the tokens of a caller that gives up may stay taken, since this bucket was
   * disturbed or one that the limiter cannot distinguish from it.
   */
  boolean mayStayTaken(String bucketKey) {
    return fixed.contains(Insides.entryOf(bucketKey));
  }

  /** Returns whether no call to a bucket is in flight, and no caller gives up. */
  boolean isCalm(String bucketKey) {
    return underWay.getOrDefault(bucketKey, 0) == 0 && leaving.getOrDefault(bucketKey, 0) == 0;
  }

  /**
   * Records that a caller that waited passes. Returns whether it overtakes no caller of its
   * process.
   *
   * @param place the position of its spend in its bucket
   */
  boolean isInOrder(int process, String bucketKey, long place) {
    Long last = lastPassed.merge("p" + process + " " + bucketKey, place, Math::max);
    return last == place;
  }
}
