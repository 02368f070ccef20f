// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Decision.DecidedBy;
import dev.sluice.Transaction;
import dev.sluice.async.Stages;
import dev.sluice.server.rls.Lines.Line;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Asks the limiter for lines: all or nothing. Then it charges what was used already, whether it
 * fits or not, where a line says so. Thread-safe.
 */
final class Charging {

  /** Others may spend between two attempts to take what is left; the last one may find nothing. */
  private static final int ATTEMPTS = 3;

  private final AsyncLimiter limiter;

  Charging(AsyncLimiter limiter) {
    this.limiter = limiter;
  }

  /**
   * The result of charging lines.
   *
   * @param outcomes what became of each line
   * @param whole the decision on all of them, null unless it tells the state of their buckets. It
   *     does not where one was only looked at, or a cost fits none
   */
  record Charged(Map<Line, LineOutcome> outcomes, @Nullable Decision whole) {

    static final Charged NOTHING = new Charged(Map.of(), null);

    /** With what was given back, by outcomes alone: no decision is on both. */
    Charged withRefunds(Map<Line, LineOutcome> refunded) {
      Map<Line, LineOutcome> both = new LinkedHashMap<>(outcomes);
      both.putAll(refunded);
      return new Charged(both, null);
    }

    /** With what was found in shadow. */
    Charged with(Charged trial) {
      Map<Line, LineOutcome> both = new LinkedHashMap<>(outcomes);
      both.putAll(trial.outcomes);
      return new Charged(both, whole);
    }
  }

  /**
   * Charges lines together.
   *
   * @param lines each bucket once
   * @param givenUp completed if nobody waits for the answer any more; what has not left for the
   *     store then is not charged
   * @return what became of them
   */
  CompletionStage<Charged> charge(List<Line> lines, CompletableFuture<?> givenUp) {
    List<Line> asked = new ArrayList<>(lines.size());
    List<Transaction> transactions = new ArrayList<>(lines.size());
    Map<Line, LineOutcome> outcomes = new LinkedHashMap<>();
    boolean fits = true;
    boolean probes = false;
    for (Line line : lines) {
      Transaction transaction = line.asked();
      fits &= !line.neverFits();
      probes |= line.isProbe();
      if (transaction == null) {
        outcomes.put(line, LineOutcome.closed(line));
      } else {
        asked.add(line);
        transactions.add(transaction);
      }
    }
    if (asked.isEmpty()) {
      return CompletableFuture.completedFuture(new Charged(outcomes, null));
    }
    boolean spends = fits;
    boolean tells = spends && !probes;
    CompletionStage<Decision> decided =
        spends ? limiter.spend(transactions) : limiter.check(transactions);
    cancelWith(givenUp, decided.toCompletableFuture());
    return decided.thenCompose(
        decision -> {
          for (int i = 0; i < asked.size(); i++) {
            Line line = asked.get(i);
            outcomes.put(line, LineOutcome.of(line, decision.parts().get(i), spends));
          }
          return settled(outcomes)
              .thenApply(nothing -> new Charged(outcomes, tells ? decision : null));
        });
  }

  /**
   * Gives back what lines say.
   *
   * @param lines each bucket once
   * @param givenUp as above
   * @return what became of them
   */
  CompletionStage<Map<Line, LineOutcome>> refund(List<Line> lines, CompletableFuture<?> givenUp) {
    CompletionStage<Decision> refunded =
        limiter.refund(lines.stream().map(Line::givenBack).toList());
    cancelWith(givenUp, refunded.toCompletableFuture());
    return refunded.thenApply(
        decision -> {
          Map<Line, LineOutcome> outcomes = new LinkedHashMap<>();
          for (int i = 0; i < lines.size(); i++) {
            outcomes.put(lines.get(i), LineOutcome.refunded(lines.get(i), decision.parts().get(i)));
          }
          return outcomes;
        });
  }

  private static void cancelWith(CompletableFuture<?> givenUp, CompletableFuture<?> decided) {
    if (!decided.isDone()) {
      Stages.onSuccess(givenUp, why -> decided.cancel(false));
    }
  }

  /** Where all fits, or a failure rule stood in for the store, nothing is left to do. */
  private CompletionStage<Void> settled(Map<Line, LineOutcome> outcomes) {
    boolean over = false;
    boolean degraded = false;
    for (LineOutcome outcome : outcomes.values()) {
      over |= outcome.over();
      degraded |= outcome.decidedBy() != DecidedBy.STORE;
    }
    if (!over || degraded) {
      return CompletableFuture.completedFuture(null);
    }
    List<Line> lines = new ArrayList<>();
    List<Transaction> transactions = new ArrayList<>();
    outcomes.forEach(
        (line, outcome) -> {
          long tokens = line.chargedDespite(outcome.remaining());
          if (tokens > 0) {
            lines.add(line);
            transactions.add(line.settled(tokens));
          }
        });
    return settle(lines, transactions, ATTEMPTS);
  }

  private CompletionStage<Void> settle(
      List<Line> lines, List<Transaction> transactions, int attempts) {
    if (transactions.isEmpty() || attempts == 0) {
      return CompletableFuture.completedFuture(null);
    }
    return limiter
        .spend(transactions)
        .thenCompose(
            decision -> {
              List<Line> rest = new ArrayList<>();
              List<Transaction> again = new ArrayList<>();
              for (int i = 0; i < lines.size(); i++) {
                Decision part = decision.parts().get(i);
                if (part.denied() && part.remaining() > 0) {
                  rest.add(lines.get(i));
                  again.add(lines.get(i).settled(part.remaining()));
                }
              }
              return settle(rest, again, attempts - 1);
            });
  }
}
