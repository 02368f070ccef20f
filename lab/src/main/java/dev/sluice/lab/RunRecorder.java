// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import dev.sluice.gcra.Gcra;
import dev.sluice.gcra.Quota;
import dev.sluice.lab.Algorithm.SimulatedLimiter;
import dev.sluice.lab.Algorithm.Verdict;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.LongStream;

/**
 * Records one run: the admitted and denied requests of each bin and of each client, and the level
 * of the watched client's bucket. Not thread-safe.
 */
final class RunRecorder {

  private static final long NOT_DENIED = -1;

  private final Subject subject;
  private final List<Client> clients;
  private final long lengthNanos;
  private final long binNanos;
  private final long[] admitted;
  private final long[] denied;
  private final boolean[] everAdmitted;
  private final boolean[] everDenied;
  private final long[] deniedSinceNanos;
  private final long[] deniedUntilNanos;
  private final ContinuousLeak continuousLeak;
  private final LevelTrace level;
  private long longestLockoutNanos;
  private int longestLockedOut = -1;

  /**
   * Creates a recorder.
   *
   * @param limiter the limiter of the run, from which the level of the watched bucket is read
   * @param watched the index of the client whose bucket the chart shows
   */
  RunRecorder(
      Subject subject,
      SimulatedLimiter limiter,
      List<Client> clients,
      int watched,
      long lengthNanos,
      long binNanos) {
    int bins = (int) ((lengthNanos - 1) / binNanos) + 1;
    this.subject = subject;
    this.clients = clients;
    this.lengthNanos = lengthNanos;
    this.binNanos = binNanos;
    this.admitted = new long[bins];
    this.denied = new long[bins];
    this.everAdmitted = new boolean[clients.size()];
    this.everDenied = new boolean[clients.size()];
    this.deniedSinceNanos = new long[clients.size()];
    this.deniedUntilNanos = new long[clients.size()];
    Arrays.fill(deniedSinceNanos, NOT_DENIED);
    this.continuousLeak = new ContinuousLeak(subject.quota());
    this.level = new LevelTrace(limiter, clients.get(watched).bucket(), binNanos);
  }

  /** Call this method before the decision on each request. */
  void before(int index, long nowNanos) {
    level.before(clients.get(index).bucket(), nowNanos);
  }

  /** Call this method after the decision on each request. */
  void after(int index, long nowNanos, Verdict verdict) {
    Client client = clients.get(index);
    int bin = (int) (nowNanos / binNanos);
    level.after(client.bucket(), nowNanos, verdict);
    continuousLeak.compare(client.bucket(), client.cost(), nowNanos, verdict.admitted());
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
      endLockout(index, nowNanos);
      deniedSinceNanos[index] = NOT_DENIED;
    }
  }

  private void endLockout(int index, long untilNanos) {
    long since = deniedSinceNanos[index];
    if (since != NOT_DENIED && untilNanos - since > longestLockoutNanos) {
      longestLockoutNanos = untilNanos - since;
      longestLockedOut = index;
    }
  }

  RunResult result() {
    // If a client was not admitted again, its lockout ends when the retryAfter of the last denial
    // ends.
    for (int i = 0; i < everDenied.length; i++) {
      endLockout(i, deniedUntilNanos[i]);
    }
    int clientsDenied = 0;
    int clientsNeverServed = 0;
    for (int i = 0; i < everDenied.length; i++) {
      clientsDenied += everDenied[i] ? 1 : 0;
      clientsNeverServed += everDenied[i] && !everAdmitted[i] ? 1 : 0;
    }
    return new RunResult(
        subject,
        clients.size(),
        clientsDenied,
        clientsNeverServed,
        longestLockoutNanos,
        longestLockedOut < 0 ? "" : clients.get(longestLockedOut).name(),
        subject.algorithm() == Algorithm.LEAKY_BUCKET
            ? OptionalLong.of(continuousLeak.wronglyDenied)
            : OptionalLong.empty(),
        lengthNanos,
        binNanos,
        boxed(admitted),
        boxed(denied),
        level.endAt(lengthNanos));
  }

  private static List<Long> boxed(long[] numbers) {
    return LongStream.of(numbers).boxed().toList();
  }

  /**
   * An ideal leaky bucket, which leaks continuously. The ideal bucket uses Sluice's arithmetic, and
   * is charged exactly the requests that the run admitted. If the run denied a request for which
   * the ideal bucket had room, the request was wrongly denied.
   */
  private static final class ContinuousLeak {

    private final Quota quota;
    private final Map<Integer, Long> tatsNanos = new HashMap<>();
    private long wronglyDenied;

    ContinuousLeak(Quota quota) {
      this.quota = quota;
    }

    void compare(int bucket, long cost, long nowNanos, boolean admitted) {
      long tat = tatsNanos.getOrDefault(bucket, Gcra.NO_TAT);
      long ahead = Gcra.aheadNanos(nowNanos, tat);
      long increment = quota.incrementNanos(cost);
      if (admitted) {
        tatsNanos.put(bucket, nowNanos + ahead + increment);
      } else if (Gcra.roomNanos(ahead, increment, quota.offsetNanos()) >= 0) {
        wronglyDenied++;
      }
    }
  }

  /**
   * The level of one bucket over time. For each bin, only the first, the lowest, the highest and
   * the last point are stored. A chart of four points per bin looks the same as a chart of all
   * points.
   */
  private static final class LevelTrace {

    private final SimulatedLimiter limiter;
    private final int bucket;
    private final long binNanos;
    private final List<RunResult.Point> points = new ArrayList<>();
    private final List<RunResult.Point> inBin = new ArrayList<>();
    private long nextBinNanos;

    LevelTrace(SimulatedLimiter limiter, int bucket, long binNanos) {
      this.limiter = limiter;
      this.bucket = bucket;
      this.binNanos = binNanos;
    }

    void before(int requested, long nowNanos) {
      closeBinsUntil(nowNanos);
      if (requested == bucket) {
        read(nowNanos);
      }
    }

    void after(int requested, long nowNanos, Verdict verdict) {
      if (requested == bucket) {
        inBin.add(new RunResult.Point(nowNanos, verdict.level()));
      }
    }

    List<RunResult.Point> endAt(long endNanos) {
      closeBinsUntil(endNanos - 1);
      read(endNanos - 1);
      closeBin();
      return List.copyOf(points);
    }

    private void closeBinsUntil(long nowNanos) {
      while (nextBinNanos <= nowNanos) {
        closeBin();
        read(nextBinNanos);
        nextBinNanos += binNanos;
      }
    }

    private void read(long nowNanos) {
      inBin.add(new RunResult.Point(nowNanos, limiter.decide(bucket, 0, nowNanos).level()));
    }

    private void closeBin() {
      int last = inBin.size() - 1;
      int lowest = 0;
      int highest = 0;
      for (int i = 1; i <= last; i++) {
        if (inBin.get(i).value() < inBin.get(lowest).value()) {
          lowest = i;
        }
        if (inBin.get(i).value() > inBin.get(highest).value()) {
          highest = i;
        }
      }
      for (int i = 0; i <= last; i++) {
        if (i == 0 || i == lowest || i == highest || i == last) {
          points.add(inBin.get(i));
        }
      }
      inBin.clear();
    }
  }
}
