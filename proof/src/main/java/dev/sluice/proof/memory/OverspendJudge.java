// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.memory;

import dev.sluice.proof.memory.HistoryRunner.Call;
import dev.sluice.proof.memory.Op.Kind;
import dev.sluice.proof.memory.Op.Part;
import java.util.List;

/**
 * Checks that no bucket granted more tokens than its burst, its refill, its refunds and its resets
 * allow. The largest allowed number of tokens does not depend on the order of the calls.
 */
final class OverspendJudge {

  private OverspendJudge() {}

  /** Returns a description of the violation; empty if the invariant holds. */
  static String violation(Setup setup, List<Call> calls) {
    for (int key = 0; key < setup.keys(); key++) {
      String over = over(setup, calls, key);
      if (!over.isEmpty()) {
        return over;
      }
    }
    return "";
  }

  private static String over(Setup setup, List<Call> calls, int key) {
    long given = 0;
    long firstNanos = Long.MAX_VALUE;
    long lastNanos = 0;
    SequentialStore law = new SequentialStore(setup);
    for (Call call : calls) {
      firstNanos = Math.min(firstNanos, call.begunNanos());
      lastNanos = Math.max(lastNanos, call.endedNanos());
      List<Part> parts = call.op().parts();
      if (!call.answer().failure().isEmpty() || call.op().kind() != Kind.CHARGE) {
        continue;
      }
      boolean passes = true;
      for (int i = 0; i < parts.size(); i++) {
        passes &= !parts.get(i).act().votes() || fits(law, call, i);
      }
      for (int i = 0; i < parts.size(); i++) {
        Part part = parts.get(i);
        if (part.key() != key || !passes) {
          continue;
        }
        switch (part.act()) {
          case SPEND, SPEND_ONLY, SPEND_UP_TO ->
              given += fits(law, call, i) ? tokens(law, call, i) : 0;
          case REFUND -> given -= part.cost();
          case RESET -> given -= setup.burst();
          case CHECK -> {
            // A check neither takes tokens from the bucket nor returns tokens.
          }
        }
      }
    }
    long most = setup.burst() + (lastNanos - firstNanos) / Setup.TOKEN_NANOS;
    return setup.keptNanos() > 0 || given <= most
        ? ""
        : "bucket %s granted %s tokens, at most %s are allowed".formatted(key, given, most);
  }

  private static long tokens(SequentialStore law, Call call, int i) {
    return law.tokens(
        call.op().parts().get(i), call.answer().nowNanos().get(i), call.answer().tatNanos().get(i));
  }

  private static boolean fits(SequentialStore law, Call call, int i) {
    return law.fits(
        call.op().parts().get(i), call.answer().nowNanos().get(i), call.answer().tatNanos().get(i));
  }
}
