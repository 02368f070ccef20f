// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.Limiter;
import dev.sluice.direct.DirectLimit;
import dev.sluice.direct.Spends;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.limit.UnknownLimitException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** The runs of a thread, a few limits' at a time, found by the bytes of a name. */
final class LimitRuns {

  private static final int SLOTS = 64;

  private final Limiter limiter;
  private final @Nullable LimitRun[] slots = new @Nullable LimitRun[SLOTS];
  private boolean none; // the store does not answer at once

  LimitRuns(Limiter limiter) {
    this.limiter = limiter;
  }

  /** The run of the limit that an argument names; null if there is none. */
  @Nullable LimitRun find(Request request, int index) {
    if (none) {
      return null;
    }
    int slot = hash(request, index) & (SLOTS - 1);
    LimitRun run = slots[slot];
    if (run == null || !run.isNamed(request, index)) {
      run = make(request.copy(index));
      if (run != null) {
        slots[slot] = run;
      }
    }
    return run;
  }

  private @Nullable LimitRun make(byte[] name) {
    String text = new String(name, StandardCharsets.US_ASCII);
    Limits now = limiter.limits().get();
    LimitName known = now.catalogue().find(text);
    if (known == null || !now.isConfigured(known)) {
      return null;
    }
    Spends spends = spends(text);
    return spends == null ? null : new LimitRun(text, name, spends);
  }

  private @Nullable Spends spends(String name) {
    try {
      DirectLimit limit = limiter.limit(name);
      Spends spends = limit.spends();
      none = spends == null;
      return spends;
    } catch (UnknownLimitException e) { // the limits were replaced since
      return null;
    }
  }

  private static int hash(Request request, int index) {
    byte[] bytes = request.bytes();
    int start = request.start(index);
    int end = start + request.length(index);
    int hash = request.length(index);
    for (int i = start; i < end; i++) {
      hash = 31 * hash + bytes[i];
    }
    return hash;
  }
}
