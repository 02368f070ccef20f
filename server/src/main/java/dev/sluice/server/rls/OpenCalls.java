// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import dev.sluice.Reservation.Receipt;
import dev.sluice.store.TimeSource;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/*
 * A request can never be charged less than without settlements: whatever is not found here is
 * charged in full. So the memory may forget, and a request whose id is in use is not kept.
 */

/**
 * What the requests of proxies have reserved that have not ended yet, in the memory of this server.
 * Thread-safe; never blocks.
 */
final class OpenCalls {

  /** The most requests; beyond that, the oldest is forgotten. */
  static final int MOST = 100_000;

  // The most characters of domain and request id together.
  private static final int LONGEST_KEY = 256;
  private static final int LOOKED_AT = 2;

  private final TimeSource time;
  private final int most;
  private final Map<Key, Open> open = new LinkedHashMap<>(); // guarded by itself

  /** Makes an empty memory. */
  OpenCalls(TimeSource time, int most) {
    this.time = time;
    this.most = most;
  }

  /**
   * What a proxy knows at the beginning and at the end of a request.
   *
   * @param bucket the key of the bucket, which stands for limit and id
   * @param call the id of the request
   */
  record Key(String domain, String bucket, String call) {

    private boolean isUsable() {
      return !call.isBlank() && domain.length() + call.length() <= LONGEST_KEY;
    }
  }

  private record Open(Receipt receipt, long endNanos) {}

  /** Keeps what a request has reserved, unless another request with its id has not ended. */
  void add(Key key, Receipt receipt, Duration life) {
    if (!key.isUsable()) {
      return;
    }
    long nowNanos = time.nanos();
    synchronized (open) {
      Open known = open.get(key);
      if (known != null && known.endNanos - nowNanos <= 0) {
        open.remove(key);
      }
      open.putIfAbsent(key, new Open(receipt, nowNanos + life.toNanos()));
      Iterator<Open> oldest = open.values().iterator();
      for (int i = 0; oldest.hasNext() && (i < LOOKED_AT || open.size() > most); i++) {
        if (oldest.next().endNanos - nowNanos <= 0 || open.size() > most) {
          oldest.remove();
        }
      }
    }
  }

  /** Returns what a request has reserved, once; null if nothing is known of it. */
  @Nullable Receipt take(Key key) {
    Open known;
    synchronized (open) {
      known = open.remove(key);
    }
    return known == null || known.endNanos - time.nanos() <= 0 ? null : known.receipt;
  }

  /** Returns how many requests are kept. */
  int size() {
    synchronized (open) {
      return open.size();
    }
  }
}
