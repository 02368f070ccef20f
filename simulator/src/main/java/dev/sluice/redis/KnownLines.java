package dev.sluice.redis;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** The buckets for which callers wait, as all processes see them together. For one thread. */
final class KnownLines {

  private final Map<String, Integer> underWay = new HashMap<>(); // calls, by bucket key
  private final Set<String> disturbed = new HashSet<>(); // bucket keys
  private final Map<String, Long> lastPassed = new HashMap<>(); // by process and bucket key

  /** A call begins that asks for a bucket. */
  void began(String bucketKey, boolean keepsLines) {
    underWay.merge(bucketKey, 1, Integer::sum);
    if (!keepsLines) {
      disturbed(bucketKey);
    }
  }

  void ended(String bucketKey) {
    underWay.merge(bucketKey, -1, Integer::sum);
  }

  /** Something other than waiting and spending moves a bucket's TAT, or nobody knows what does. */
  void disturbed(String bucketKey) {
    disturbed.add(bucketKey);
  }

  boolean isDisturbed(String bucketKey) {
    return disturbed.contains(bucketKey);
  }

  /** Returns whether no call is under way to a bucket. */
  boolean isCalm(String bucketKey) {
    return underWay.getOrDefault(bucketKey, 0) == 0;
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
