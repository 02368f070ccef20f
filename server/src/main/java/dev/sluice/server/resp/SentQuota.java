// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.gcra.Quota;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The quota that was sent last, with the bytes that say it: max_burst, count and period. Callers
 * send the same one repeatedly, and equal bytes are found sooner than three numbers are read.
 * Belongs to a thread.
 */
final class SentQuota {

  private static final int FIRST = 2;
  private static final int LAST = 4;
  private static final int MOST_BYTES = 64;

  private final byte[] bytes = new byte[MOST_BYTES]; // all three arguments, and what is between
  private int length;
  private final int[] starts = new int[LAST - FIRST + 1]; // in these bytes
  private final int[] lengths = new int[LAST - FIRST + 1];
  private @Nullable Dialect dialect;
  private @Nullable Quota quota;

  /** The quota of a request that says the same as the last one; null if it says another. */
  @Nullable Quota of(Request request, Dialect spoken) {
    int from = request.start(FIRST);
    int to = request.start(LAST) + request.length(LAST);
    return spoken == dialect
            && Arrays.equals(request.bytes(), from, to, bytes, 0, length)
            && isDividedAlike(request, from)
        ? quota
        : null;
  }

  private boolean isDividedAlike(Request request, int from) {
    boolean alike = true;
    for (int i = 0; i < starts.length; i++) {
      alike &= request.start(FIRST + i) - from == starts[i];
      alike &= request.length(FIRST + i) == lengths[i];
    }
    return alike;
  }

  /** Keeps a quota, unless its numbers are written with many zeros before them. */
  void set(Request request, Dialect spoken, Quota sent) {
    int from = request.start(FIRST);
    int size = request.start(LAST) + request.length(LAST) - from;
    if (size > MOST_BYTES) {
      return;
    }
    System.arraycopy(request.bytes(), from, bytes, 0, size);
    length = size;
    for (int i = 0; i < starts.length; i++) {
      starts[i] = request.start(FIRST + i) - from;
      lengths[i] = request.length(FIRST + i);
    }
    dialect = spoken;
    quota = sent;
  }
}
