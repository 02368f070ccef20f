// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/*
 * A batch over several servers takes tokens on one of them for a moment, though another one denies
 * it. Others find these tokens missing. So a process must not ask for it repeatedly: it remembers
 * what it was told to deny for long, and a batch that needs that only looks elsewhere. An answer is
 * kept for as long again as it was found before, and for `denials` at most.
 */

/** How often a process may take in vain, by what it was told of the buckets that deny. */
final class KnownDenials {

  /** A bucket that batches over servers take from in vain. */
  static final String OBSERVED = "1:o0";

  static final int PARTNERS = 4;
  private static final long KEPT_NANOS = 950_000_000; // a second, less how long an answer may lie

  private final World world;
  private final Map<Integer, Known> known = new HashMap<>();
  private int mayTake;

  KnownDenials(World world) {
    this.world = world;
  }

  /** An answer, and when the first one like it was told. */
  private record Known(long sent, long since) {

    long keptNanos() {
      return Math.min(KEPT_NANOS, (sent - since) * 9 / 10); // a clock may be slow
    }
  }

  static String id(int partner) {
    return "e" + partner;
  }

  /** A batch begins that needs a bucket which denies. Returns what is to be done at its end. */
  Runnable begun(int partner) {
    long sent = world.now();
    Known last = known.get(partner);
    if (last != null && sent - last.sent < last.keptNanos()) {
      return () -> {};
    }
    mayTake++;
    return () -> known.put(partner, learned(sent, known.get(partner)));
  }

  private Known learned(long sent, @Nullable Known before) {
    return new Known(sent, before == null ? world.now() : before.since);
  }

  /** Returns how many batches may have taken in vain. */
  int mayTake() {
    return mayTake;
  }

  /** Returns whether the process asked for a bucket that shares its place in its memory. */
  static boolean isDisturbed(Set<String> asked) {
    return IntStream.range(0, PARTNERS)
        .mapToObj(partner -> "3:" + id(partner))
        .anyMatch(
            key ->
                asked.stream()
                    .anyMatch(
                        other ->
                            !other.equals(key)
                                && DenialMemory.place(other, RedisStoreBuilder.DENIALS)
                                    == DenialMemory.place(key, RedisStoreBuilder.DENIALS)));
  }
}
