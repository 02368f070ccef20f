// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.Insides;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The callers in all processes that wait for a bucket's tokens. Not thread-safe. */
final class KnownLines {

  private final Map<String, Integer> underWay = new HashMap<>(); // calls in flight, by bucket key
  // keys of buckets whose TAT was changed by other events than spends and waits
  private final Set<String> disturbed = new HashSet<>();
  // indexes of entries in the limiter's table; a caller of a bucket with such an entry may lose its
  // tokens when it gives up
  private final Set<Integer> fixed = new HashSet<>();
  private final Map<String, Long> lastPassed = new HashMap<>(); // by process and bucket key

  private final Map<String, List<Long>> begun = new HashMap<>(); // moments, by bucket key
  private final Map<String, Long> leavesUntil = new HashMap<>(); // by bucket key
  private final Map<String, Integer> leaving = new HashMap<>(); // number of callers, by bucket key
  private final World world;

  KnownLines(World world) {
    this.world = world;
  }

  /** Records the start of a call on a bucket. */
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
   * Records that a caller gives up. The limiter may be unable to refund the caller's tokens if a
   * later call uses the same bucket, or if another call is in flight together with the withdrawal
   * of the spend.
   *
   * @param since the start of the caller's call
   * @param nanos the longest time until the withdrawal of the spend has reached the server
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

  /** Records that the limiter must have refunded the tokens of a caller that gave up. */
  void left(String bucketKey) {
    leaving.merge(bucketKey, -1, Integer::sum);
  }

  void ended(String bucketKey) {
    underWay.merge(bucketKey, -1, Integer::sum);
  }

  /** Records that an event other than a spend or a wait may change a bucket's TAT. */
  void disturbed(String bucketKey) {
    disturbed.add(bucketKey);
    fixed.add(Insides.entryOf(bucketKey));
  }

  boolean isDisturbed(String bucketKey) {
    return disturbed.contains(bucketKey);
  }

  /**
   * Returns whether a caller that gives up may lose its tokens, because another call has changed a
   * bucket with the same entry in the limiter's table.
   */
  boolean mayStayTaken(String bucketKey) {
    return fixed.contains(Insides.entryOf(bucketKey));
  }

  /** Returns whether neither a call nor a withdrawal on a bucket is in flight. */
  boolean isCalm(String bucketKey) {
    return underWay.getOrDefault(bucketKey, 0) == 0 && leaving.getOrDefault(bucketKey, 0) == 0;
  }

  /**
   * Records that a process admitted a caller after a wait. Returns false if the process had already
   * admitted a caller whose spend on the bucket came after this caller's spend.
   *
   * @param place the position of the caller's spend among all events of the bucket
   */
  boolean isInOrder(int process, String bucketKey, long place) {
    Long last = lastPassed.merge("p" + process + " " + bucketKey, place, Math::max);
    return last == place;
  }
}
