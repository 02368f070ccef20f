// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import dev.sluice.proof.memory.History.Schedule;
import dev.sluice.proof.memory.HistoryRunner.Run;
import dev.sluice.proof.memory.Op.Part;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * Shortens a failing history, as long as the shorter history fails in the same way. Removes
 * threads, calls, thread changes, and charges of batches. Only one thread can use a reducer.
 */
final class Reducer {

  // How many random schedules are tried for each shorter history.
  private static final int TRIES = 150;

  private final HistoryRunner simulation;
  private final Random random = new Random(1);
  private final long untilNanos;

  Reducer(HistoryRunner simulation, long nanos) {
    this.simulation = simulation;
    this.untilNanos = System.nanoTime() + nanos;
  }

  Run reduce(Run failed) {
    Run smallest = failed;
    boolean smaller = true;
    while (smaller && !isLate()) {
      smaller = false;
      for (History candidate : smaller(smallest.history())) {
        Run run = stillFails(candidate, failed.kind());
        if (run != null) {
          smallest = run;
          smaller = true;
          break;
        }
      }
    }
    return withFewerTurns(smallest);
  }

  private boolean isLate() {
    return System.nanoTime() > untilNanos;
  }

  private @Nullable Run stillFails(History history, String kind) {
    Run same = simulation.repeat(history, false);
    if (same.kind().equals(kind)) {
      return same;
    }
    for (int i = 0; i < TRIES && !isLate(); i++) {
      Run run = simulation.byChance(history, random, Odds.random(random));
      if (run.kind().equals(kind)) {
        return run;
      }
    }
    return null;
  }

  private Run withFewerTurns(Run failed) {
    Run best = failed;
    int chunk = Math.max(best.history().schedule().turns().size() / 2, 1);
    while (chunk > 0) {
      boolean smaller = false;
      for (int from = 0;
          from < best.history().schedule().turns().size() && !isLate();
          from += chunk) {
        List<Schedule.Turn> turns = new ArrayList<>(best.history().schedule().turns());
        turns.subList(from, Math.min(from + chunk, turns.size())).clear();
        Schedule fewer = new Schedule(best.history().schedule().starving(), turns);
        Run run = simulation.repeat(best.history().with(fewer), false);
        if (run.kind().equals(failed.kind())) {
          best = run;
          smaller = true;
          break;
        }
      }
      chunk = smaller ? chunk : chunk / 2;
    }
    return best;
  }

  private static List<History> smaller(History history) {
    List<History> all = new ArrayList<>();
    List<List<Op>> threads = history.threads();
    for (int i = 1; i < threads.size() && threads.size() > 2; i++) {
      List<List<Op>> fewer = new ArrayList<>(threads);
      fewer.remove(i);
      all.add(history.with(fewer));
    }
    for (int i = 0; i < threads.size(); i++) {
      for (int n = 0; n < threads.get(i).size(); n++) {
        List<Op> ops = new ArrayList<>(threads.get(i));
        ops.remove(n);
        all.add(history.with(replaced(threads, i, ops)));
      }
    }
    for (int i = 0; i < threads.size(); i++) {
      for (int n = 0; n < threads.get(i).size(); n++) {
        List<Part> parts = threads.get(i).get(n).parts();
        for (int p = 0; p < parts.size() && parts.size() > 1; p++) {
          List<Part> fewer = new ArrayList<>(parts);
          fewer.remove(p);
          List<Op> ops = new ArrayList<>(threads.get(i));
          ops.set(n, Op.charge(fewer));
          all.add(history.with(replaced(threads, i, ops)));
        }
      }
    }
    return all;
  }

  private static List<List<Op>> replaced(List<List<Op>> threads, int index, List<Op> ops) {
    List<List<Op>> others = new ArrayList<>(threads);
    others.set(index, ops);
    return others;
  }
}
