// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import dev.sluice.proof.memory.HistoryRunner.Call;
import dev.sluice.proof.memory.Op.Kind;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/*
 * The search of Wing and Gong. The first call of the sequential order must be a call that began
 * before any other call ended. The search tries each candidate as the first call. If the model
 * gives the same result for this call, the search orders the remaining calls in the same way. A
 * cache of states that were already tried (Lowe) keeps the search short.
 */

/**
 * Checks linearizability: whether the calls, run one after the other in some order, give the same
 * results. Two calls that did not overlap must keep their real order. Not thread-safe.
 */
final class LinearizationJudge {

  private final List<Event> events = new ArrayList<>();
  private final Set<Tried> tried = new HashSet<>();

  private LinearizationJudge(Setup setup, List<Call> calls) {
    for (Call call : calls) {
      if (call.op().kind() == Kind.CHARGE) {
        events.add(new Event(call, -1));
      } else if (call.op().kind() == Kind.SNAPSHOT && call.answer().failure().isEmpty()) {
        // At some time during the call, the key must have had the value in the snapshot.
        for (int key = 0; key < setup.keys(); key++) {
          events.add(new Event(call, key));
        }
      }
    }
  }

  static boolean exists(Setup setup, List<Call> calls) {
    LinearizationJudge search = new LinearizationJudge(setup, calls);
    if (search.events.size() > Long.SIZE - 2) {
      throw new IllegalArgumentException(
          search.events.size() + " calls are too many for this search");
    }
    return search.from(0, new SequentialStore(setup));
  }

  private boolean from(long done, SequentialStore state) {
    if (done == (1L << events.size()) - 1) {
      return true;
    }
    if (!tried.add(new Tried(done, state))) {
      return false;
    }
    long firstEnd = Long.MAX_VALUE;
    for (int i = 0; i < events.size(); i++) {
      if ((done >> i & 1) == 0) {
        firstEnd = Math.min(firstEnd, events.get(i).call().ended());
      }
    }
    for (int i = 0; i < events.size(); i++) {
      Event event = events.get(i);
      if ((done >> i & 1) == 1 || event.call().begun() > firstEnd) {
        continue;
      }
      SequentialStore next = state;
      boolean right;
      if (event.key() >= 0) {
        long saidNanos = event.call().answer().tatNanos().get(event.key());
        right = state.holds(event.key(), saidNanos, event.call());
      } else {
        next = state.copy();
        right = next.apply(event.call());
      }
      if (right && from(done | 1L << i, next)) {
        return true;
      }
    }
    return false;
  }

  /** A call with a charge, whose {@code key} is -1, or a snapshot's read of one key. */
  private record Event(Call call, int key) {}

  private record Tried(long done, SequentialStore state) {}
}
