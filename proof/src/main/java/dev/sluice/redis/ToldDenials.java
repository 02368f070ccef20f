// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/*
 * Where batches may take tokens for a moment, a process keeps a denial for as long again as it has
 * found the same TAT (DenialMemory):
 *
 *        now − last sent   ≤   last received − first received
 *
 * The last question was sent when the bucket denied, or earlier. So a denial from memory was true
 * at a moment no longer ago than that. Callers see later than the store when an answer was
 * received, and sooner when a question was sent. So the time from the first question to the last
 * answer is taken here. A call that failed, or that is under way, may have found anything.
 */

/** How old a denial may be that a process tells from its memory. For one thread. */
final class ToldDenials {

  private final Map<String, List<Told>> told = new HashMap<>(); // by bucket key
  private final Map<String, Told> unknown = new HashMap<>(); // of calls that failed, the same
  private final long mostNanos;

  /**
   * No denial yet.
   *
   * @param mostNanos how old one may be at most
   */
  ToldDenials(long mostNanos) {
    this.mostNanos = mostNanos;
  }

  /** A TAT that denied calls: when the first of them began, and when the last one ended. */
  private record Told(long tatNanos, long begun, long ended) {

    Told until(long now) {
      return new Told(tatNanos, begun, now);
    }
  }

  /** Notes a call that began at some moment, and was denied by a TAT that the store told. */
  void denied(String key, long tatNanos, long begun, long now) {
    long since = begun;
    Told failed = unknown.get(key);
    if (failed != null) {
      since = Math.min(since, failed.begun);
      unknown.computeIfPresent(key, (any, last) -> last.ended <= begun ? null : last);
    }
    List<Told> all = told.computeIfAbsent(key, any -> new ArrayList<>());
    all.removeIf(one -> one.tatNanos != tatNanos && one.ended <= begun);
    for (int i = 0; i < all.size(); i++) {
      if (all.get(i).tatNanos == tatNanos) {
        all.set(i, all.get(i).until(now));
        return;
      }
    }
    all.add(new Told(tatNanos, since, now));
  }

  /** A call for one bucket was allowed by a TAT: what was denied by another one is forgotten. */
  void allowed(String key, long tatNanos, long begun) {
    List<Told> all = told.get(key);
    if (all != null) {
      all.removeIf(one -> one.tatNanos != tatNanos && one.ended <= begun);
    }
  }

  /** A call failed, of which one server may have denied a part. */
  void failed(String key, long begun, long now) {
    unknown.merge(key, new Told(0, begun, now), (last, next) -> last.until(now));
  }

  /**
   * Returns how old a denial by a TAT may be.
   *
   * @param othersSince since when other calls for the bucket are under way; the present if none are
   */
  long mostNanos(String key, long tatNanos, long othersSince, long now) {
    long begun = othersSince;
    long ended = othersSince < now ? now : Long.MIN_VALUE;
    for (Told one : told.getOrDefault(key, List.of())) {
      if (one.tatNanos == tatNanos) {
        begun = Math.min(begun, one.begun);
        ended = Math.max(ended, one.ended);
      }
    }
    Told failed = unknown.get(key);
    if (failed != null) {
      begun = Math.min(begun, failed.begun);
      ended = Math.max(ended, failed.ended);
    }
    return ended < begun ? 0 : Math.min(ended - begun, mostNanos);
  }
}
