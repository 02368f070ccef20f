// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import dev.sluice.proof.memory.HistoryRunner.Call;
import dev.sluice.proof.memory.InstrumentedStore.Answer;
import dev.sluice.proof.memory.Op.Part;
import dev.sluice.proof.memory.Op.Verb;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A model of the store in which calls run one after the other, and buckets are never deleted except
 * by a reset. The model checks the results of calls in a given order. The model shares no code with
 * the store's arithmetic. All calls of a run use the same burst. The model does not check runs in
 * which a clock step back puts a TAT further in the future than a whole burst.
 *
 * <p>Only {@link #apply} changes a model, so callers copy a model before they call {@code apply}.
 */
final class SequentialStore {

  private final Setup setup;
  final long[] tatNanos;
  private final long[] writtenNanos; // by key, the time of the last TAT change
  private final long[] resetNanos; // by key, the latest time of a call that removed the bucket
  // For each key, a map from each TAT to the first time at which the bucket had this TAT.
  private final List<Map<Long, Long>> metBy;

  SequentialStore(Setup setup) {
    this.setup = setup;
    this.tatNanos = new long[setup.keys()];
    this.writtenNanos = new long[setup.keys()];
    this.resetNanos = new long[setup.keys()];
    this.metBy = new ArrayList<>(Collections.nCopies(setup.keys(), Map.of()));
  }

  private SequentialStore(SequentialStore other) {
    setup = other.setup;
    tatNanos = other.tatNanos.clone();
    writtenNanos = other.writtenNanos.clone();
    resetNanos = other.resetNanos.clone();
    metBy = new ArrayList<>(other.metBy);
  }

  SequentialStore copy() {
    return new SequentialStore(this);
  }

  /** Returns whether a key can have had the value in a snapshot at some time during the call. */
  boolean holds(int key, long saidNanos, Call call) {
    long latestNanos = Math.max(call.begunNanos(), call.endedNanos());
    return saidNanos == tatNanos[key] || (saidNanos == 0 && tatNanos[key] <= latestNanos);
  }

  /**
   * Applies a call. Returns whether the result of the call is correct. If the result is wrong, this
   * model must not be used again.
   */
  boolean apply(Call call) {
    List<Part> parts = call.op().parts();
    Answer answer = call.answer();
    boolean twice = parts.stream().map(Part::key).distinct().count() < parts.size();
    if (twice) {
      return answer.failure().equals(Answer.TWICE);
    }
    if (answer.failure().equals(Answer.FULL)) {
      return mayBeFull(call);
    }
    if (!answer.failure().isEmpty()) {
      return false;
    }
    boolean passes = true;
    for (int i = 0; i < parts.size(); i++) {
      Part part = parts.get(i);
      long nowNanos = answer.nowNanos().get(i);
      long saidNanos = answer.tatNanos().get(i);
      long storedNanos = tatNanos[part.key()];
      boolean same =
          saidNanos == 0
              ? storedNanos <= (setup.keptNanos() > 0 ? nowNanos : call.endedNanos())
              : saidNanos == storedNanos && saidNanos > nowNanos;
      if (!same || nowNanos != answer.nowNanos().get(0)) {
        return false;
      }
      if (setup.keptNanos() == 0
          && (nowNanos < call.begunNanos() || nowNanos > call.endedNanos())) {
        return false;
      }
      passes &= !part.act().votes() || fits(part, nowNanos, saidNanos);
    }
    for (int i = 0; i < parts.size(); i++) {
      if (!write(parts.get(i), answer.nowNanos().get(i), answer.tatNanos().get(i), passes)) {
        return false;
      }
    }
    return true;
  }

  private long aheadNanos(long nowNanos, long tat) {
    return Math.min(Math.max(tat - nowNanos, 0), setup.offsetNanos());
  }

  boolean fits(Part part, long nowNanos, long tat) {
    return aheadNanos(nowNanos, tat) + tokens(part, nowNanos, tat) * Setup.TOKEN_NANOS
        <= setup.offsetNanos();
  }

  /** Returns how many tokens a charge needs, which is the number that a granted spend takes. */
  long tokens(Part part, long nowNanos, long tat) {
    long free = (setup.offsetNanos() - aheadNanos(nowNanos, tat)) / Setup.TOKEN_NANOS;
    return part.act() == Verb.SPEND_UP_TO ? Math.max(Math.min(part.cost(), free), 1) : part.cost();
  }

  private boolean write(Part part, long nowNanos, long tat, boolean passes) {
    int key = part.key();
    long costNanos = tokens(part, nowNanos, tat) * Setup.TOKEN_NANOS;
    long aheadNanos = aheadNanos(nowNanos, tat);
    boolean fits = fits(part, nowNanos, tat);
    // A denial and a refund read the bucket's TAT first, and the clock second. The clock's time
    // must not be earlier than the first time at which the bucket had this TAT. Only the first time
    // of this TAT is checked, since the TAT may have changed, and changed back, before the clock
    // was read.
    boolean late = part.act() == Verb.REFUND || (!fits && part.act().votes());
    long earliestNanos = metBy.get(key).getOrDefault(tatNanos[key], 0L);
    if (late && setup.keptNanos() == 0 && nowNanos < earliestNanos && tat != 0) {
      return false;
    }
    if (!passes) {
      return true;
    }
    // A spend must not use a clock time that is earlier than the reset of the spend's bucket.
    boolean spends = part.act().spends() && costNanos > 0;
    boolean forgotten = tatNanos[key] == 0 && setup.keptNanos() == 0;
    if (spends && forgotten && nowNanos < resetNanos[key]) {
      return false;
    }
    switch (part.act()) {
      case SPEND, SPEND_ONLY, SPEND_UP_TO -> {
        if (fits && costNanos > 0) {
          put(key, nowNanos, nowNanos + aheadNanos + costNanos);
        }
      }
      case REFUND -> {
        if (aheadNanos > 0 && costNanos > 0) {
          put(key, nowNanos, nowNanos + Math.max(aheadNanos - costNanos, 0));
        }
      }
      case RESET -> {
        if (tatNanos[key] != 0) { // the reset of a missing bucket changes nothing
          resetNanos[key] = Math.max(resetNanos[key], nowNanos);
        }
        put(key, nowNanos, 0);
      }
      case CHECK -> {}
    }
    return true;
  }

  private void put(int key, long nowNanos, long tat) {
    tatNanos[key] = tat;
    writtenNanos[key] = Math.max(writtenNanos[key], nowNanos);
    Map<Long, Long> more = new HashMap<>(metBy.get(key));
    more.putIfAbsent(tat, writtenNanos[key]);
    metBy.set(key, more);
  }

  /**
   * Returns whether the store can have been full during a call that creates buckets. The store can
   * also report that it is full if another thread creates one of the buckets during the call.
   */
  private boolean mayBeFull(Call call) {
    long live = Arrays.stream(tatNanos).filter(tat -> tat > call.begunNanos()).count();
    long made =
        call.op().parts().stream()
            .filter(part -> part.act().spends())
            .filter(part -> part.cost() > 0)
            .count();
    return made > 0 && live + made > setup.bound();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof SequentialStore that
        && Arrays.equals(tatNanos, that.tatNanos)
        && Arrays.equals(writtenNanos, that.writtenNanos)
        && Arrays.equals(resetNanos, that.resetNanos)
        && metBy.equals(that.metBy);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(tatNanos) + Arrays.hashCode(writtenNanos);
  }
}
