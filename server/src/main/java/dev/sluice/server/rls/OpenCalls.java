// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import dev.sluice.Reservation.Receipt;
import dev.sluice.store.TimeSource;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/*
 * A request whose reservation is missing is charged in full at its end, so a lost reservation never
 * makes a request cheaper. So this memory may drop reservations, and ignores a reservation whose
 * request id is already in use.
 */

/** The token reservations of requests that are in progress at proxies. */
public final class OpenCalls {

  // The reservations take at most the heap divided by this number; a new one evicts the oldest.
  private static final int HEAP_PER_RESERVATIONS = 16;

  // The heap of a reservation without its texts. Measured on a 64-bit JVM with compressed
  // references: at most 600 bytes with one quota, 880 with two, and 1,311 with four.
  private static final int BYTES = 300;
  private static final int BYTES_A_QUOTA = 300;

  // The largest total length of a domain and a request id, in characters.
  private static final int LONGEST_KEY = 256;
  private static final int LOOKED_AT = 2; // more than one, so that expired requests become fewer

  private final TimeSource time;
  private final long mostBytes;
  private final Counter evicted;
  private final Map<CallKey, OpenCall> open = new LinkedHashMap<>(); // guarded by itself
  private final TreeSet<OpenCall> byEnd = // guarded by open
      new TreeSet<>(
          Comparator.comparingLong(OpenCall::endNanos).thenComparingLong(OpenCall::number));
  private long added; // guarded by open
  private long bytes; // guarded by open

  public OpenCalls(MeterRegistry meters) {
    this(TimeSource.system(), Runtime.getRuntime().maxMemory() / HEAP_PER_RESERVATIONS, meters);
  }

  OpenCalls(TimeSource time, long mostBytes, MeterRegistry meters) {
    this.time = time;
    this.mostBytes = mostBytes;
    this.evicted =
        Counter.builder("sluice.rls.reservations.evicted")
            .description(
                "Reservations for proxies' requests that the server dropped before the requests ended")
            .register(meters);
  }

  /**
   * The key of a reservation: values that the proxy sends both at the start and at the end of a
   * request.
   *
   * @param bucket the key of the bucket, which identifies the limit and the id
   * @param terms the quotas that the proxy sent; if it sent none, the periods of all quotas of the
   *     limit except the first. A settlement must have the terms, and so the buckets, of its
   *     reservation
   * @param call the id of the request
   */
  record CallKey(String domain, String bucket, List<?> terms, String call) {

    private boolean isUsable() {
      return !call.isBlank() && domain.length() + call.length() <= LONGEST_KEY;
    }
  }

  private record OpenCall(CallKey key, Receipt receipt, long endNanos, long number) {}

  /**
   * Returns the most bytes of the heap that a reservation takes. A character takes up to two bytes.
   * The id is in the bucket's key, and once more in the receipt.
   */
  static long bytes(CallKey key, Receipt receipt) {
    long characters = key.domain.length() + 2L * key.bucket.length() + key.call.length();
    return BYTES + (long) BYTES_A_QUOTA * receipt.parts().size() + Character.BYTES * characters;
  }

  /** Keeps the receipt of a request, unless an earlier request with the same id has not ended. */
  void add(CallKey key, Receipt receipt, Duration life) {
    if (!key.isUsable()) {
      return;
    }
    long nowNanos = time.nanos();
    synchronized (open) {
      OpenCall known = open.get(key);
      if (known != null && known.endNanos <= nowNanos) {
        remove(known);
      }
      for (int i = 0;
          i < LOOKED_AT && !byEnd.isEmpty() && byEnd.first().endNanos <= nowNanos;
          i++) {
        remove(byEnd.first());
      }
      if (open.containsKey(key)) {
        return;
      }
      OpenCall call = new OpenCall(key, receipt, nowNanos + life.toNanos(), added++);
      open.put(key, call);
      byEnd.add(call);
      bytes += bytes(key, receipt);
      while (bytes > mostBytes) {
        remove(open.values().iterator().next());
        evicted.increment();
      }
    }
  }

  private void remove(OpenCall call) {
    open.remove(call.key);
    byEnd.remove(call);
    bytes -= bytes(call.key, call.receipt);
  }

  /** Removes and returns the receipt of a request; null if the receipt is missing or expired. */
  @Nullable Receipt take(CallKey key) {
    OpenCall known;
    synchronized (open) {
      known = open.get(key);
      if (known != null) {
        remove(known);
      }
    }
    return known == null || known.endNanos <= time.nanos() ? null : known.receipt;
  }

  int size() {
    synchronized (open) {
      return open.size();
    }
  }
}
