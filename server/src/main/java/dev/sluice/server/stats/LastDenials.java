// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.stats;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.sluice.server.stats.Denials.Denial;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;

/**
 * The last denials of each id of a limit: at most {@link #MOST_OF_ONE} of one id, and {@link #MOST}
 * in all. The ids whose last denial is oldest are forgotten first. Thread-safe.
 */
final class LastDenials {

  static final int MOST_OF_ONE = 10;
  static final int MOST = 10_000;

  @GuardedBy("this")
  private final Map<DeniedBucket, Deque<Denial>> byBucket = new LinkedHashMap<>(16, 0.75f, true);

  @GuardedBy("this")
  private int size;

  private record DeniedBucket(String limit, String id) {}

  synchronized void add(String limit, String id, Denial denial) {
    Deque<Denial> denials =
        byBucket.computeIfAbsent(new DeniedBucket(limit, id), bucket -> new ArrayDeque<>(1));
    denials.addFirst(denial);
    size++;
    if (denials.size() > MOST_OF_ONE) {
      denials.removeLast();
      size--;
    }
    Iterator<Deque<Denial>> oldest = byBucket.values().iterator();
    while (size > MOST) {
      size -= oldest.next().size();
      oldest.remove();
    }
  }

  /** Calls a consumer with the limit and the id of each denial that is kept, each once. */
  void forEach(BiConsumer<String, String> each) {
    List<DeniedBucket> buckets;
    synchronized (this) {
      buckets = List.copyOf(byBucket.keySet());
    }
    buckets.forEach(bucket -> each.accept(bucket.limit, bucket.id));
  }

  /** Returns the last denials of an id, the newest first. */
  synchronized List<Denial> of(String limit, String id) {
    DeniedBucket bucket = new DeniedBucket(limit, id);
    return byBucket.containsKey(bucket) ? List.copyOf(byBucket.get(bucket)) : List.of();
  }
}
