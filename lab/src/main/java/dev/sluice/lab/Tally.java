// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.lab.Algorithm.Verdict;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.IntFunction;
import java.util.stream.LongStream;

/** Counts what happens in one run. For one thread. */
final class Tally {

  private static final long NOT_DENIED = -1;

  private final long binNanos;
  private final long[] admitted;
  private final long[] denied;
  private final boolean[] everAdmitted;
  private final boolean[] everDenied;
  private final long[] deniedSinceNanos;
  private final long[] deniedUntilNanos;
  private final long lengthNanos;
  private final Yardstick yardstick;
  private long longestLockoutNanos;
  private int longestLockedOut = -1;

  Tally(Subject subject, int clients, long lengthNanos, long binNanos) {
    int bins = (int) ((lengthNanos - 1) / binNanos) + 1;
    this.lengthNanos = lengthNanos;
    this.binNanos = binNanos;
    this.admitted = new long[bins];
    this.denied = new long[bins];
    this.everAdmitted = new boolean[clients];
    this.everDenied = new boolean[clients];
    this.deniedSinceNanos = new long[clients];
    this.deniedUntilNanos = new long[clients];
    Arrays.fill(deniedSinceNanos, NOT_DENIED);
    this.yardstick = new Yardstick(subject.quota());
  }

  void count(int index, Client client, long nowNanos, Verdict verdict) {
    int bin = (int) (nowNanos / binNanos);
    yardstick.measure(client.bucket(), client.cost(), nowNanos, verdict.admitted());
    if (!verdict.admitted()) {
      denied[bin]++;
      everDenied[index] = true;
      if (deniedSinceNanos[index] == NOT_DENIED) {
        deniedSinceNanos[index] = nowNanos;
      }
      deniedUntilNanos[index] =
          nowNanos + Math.min(verdict.retryAfterNanos(), lengthNanos - nowNanos);
    } else {
      admitted[bin]++;
      everAdmitted[index] = true;
      lockedOut(index, nowNanos);
      deniedSinceNanos[index] = NOT_DENIED;
    }
  }

  private void lockedOut(int index, long untilNanos) {
    long since = deniedSinceNanos[index];
    if (since != NOT_DENIED && untilNanos - since > longestLockoutNanos) {
      longestLockoutNanos = untilNanos - since;
      longestLockedOut = index;
    }
  }

  RunResult outcome(Subject subject, List<LevelPoint> level, IntFunction<String> name) {
    // A client that was never admitted again is locked out for as long as the last denial said.
    for (int i = 0; i < everDenied.length; i++) {
      lockedOut(i, deniedUntilNanos[i]);
    }
    int clientsDenied = 0;
    int clientsNeverServed = 0;
    for (int i = 0; i < everDenied.length; i++) {
      clientsDenied += everDenied[i] ? 1 : 0;
      clientsNeverServed += everDenied[i] && !everAdmitted[i] ? 1 : 0;
    }
    return new RunResult(
        subject,
        everDenied.length,
        clientsDenied,
        clientsNeverServed,
        longestLockoutNanos,
        longestLockedOut < 0 ? "" : name.apply(longestLockedOut),
        subject.kind() == Algorithm.LEAKY_BUCKET
            ? OptionalLong.of(yardstick.wronglyDenied())
            : OptionalLong.empty(),
        lengthNanos,
        binNanos,
        boxed(admitted),
        boxed(denied),
        level);
  }

  private static List<Long> boxed(long[] numbers) {
    return LongStream.of(numbers).boxed().toList();
  }
}
