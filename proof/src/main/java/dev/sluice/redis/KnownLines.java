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
  private final Map<String, List<Left>> left = new HashMap<>(); // by process and bucket key
  private final World world;
  private final long lingersNanos;

  /**
   * No line yet.
   *
   * @param answerNanos how long an answer takes, about
   */
  KnownLines(World world, long answerNanos) {
    this.world = world;
    long waitNanos = SimulatedLimits.W.longestWait().toNanos();
    this.lingersNanos = waitNanos + waitNanos / 100 + answerNanos / 10 * 11; // clocks may be slow
  }

  /** A caller that gave up: when, and how much of what it took others may still move up by. */
  private static final class Left {
    private final long moment;
    private long nanos;

    Left(long moment, long nanos) {
      this.moment = moment;
      this.nanos = nanos;
    }
  }

  /** A call begins that asks for a bucket. */
  void began(String bucketKey, boolean keepsLines) {
    underWay.merge(bucketKey, 1, Integer::sum);
    begun.computeIfAbsent(bucketKey, key -> new ArrayList<>()).add(world.now());
    if (!keepsLines || world.now() < leavesUntil.getOrDefault(bucketKey, Long.MIN_VALUE)) {
      disturbed(bucketKey);
    }
  }

  /**
   * A caller gives up: where another call to its bucket crosses that on its way, what it took may
   * stay taken.
   *
   * @param since when the call began that it gives up
   * @param nanos how long a call and what is given back are on their way
   */
  void leaves(String bucketKey, long since, long nanos) {
    long from = Math.min(since, world.now() - nanos);
    long crossing =
        begun.getOrDefault(bucketKey, List.of()).stream().filter(one -> one >= from).count();
    if (crossing > (since >= from ? 1 : 0)) {
      disturbed(bucketKey);
    }
    leavesUntil.put(bucketKey, world.now() + nanos);
    leaving.merge(bucketKey, 1, Integer::sum);
  }

  /**
   * A caller gives up what it took: those of its process behind it move up by as much.
   *
   * @param takenNanos how much that is
   */
  void vacates(int process, String bucketKey, long takenNanos) {
    List<Left> places = left.computeIfAbsent(line(process, bucketKey), key -> new ArrayList<>());
    places.removeIf(place -> world.now() - place.moment > 2 * lingersNanos);
    places.add(new Left(world.now(), takenNanos));
  }

  /**
   * Returns by how much a caller may have moved up into places that others of its process left, and
   * no more than is asked for. Each place is moved into once. A place that was left before the
   * caller spent is there until its own turn, which comes by the longest wait.
   *
   * @param spent the moment of the world at which the caller's tokens were taken
   */
  long movedUpNanos(int process, String bucketKey, long spent, long nanos) {
    long movedUpNanos = 0;
    for (Left place : left.getOrDefault(line(process, bucketKey), List.of())) {
      if (place.moment >= spent - lingersNanos && movedUpNanos < nanos) {
        long moreNanos = Math.min(place.nanos, nanos - movedUpNanos);
        place.nanos -= moreNanos;
        movedUpNanos += moreNanos;
      }
    }
    return movedUpNanos;
  }

  private static String line(int process, String bucketKey) {
    return "p" + process + " " + bucketKey;
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
    Long last = lastPassed.merge(line(process, bucketKey), place, Math::max);
    return last == place;
  }
}
