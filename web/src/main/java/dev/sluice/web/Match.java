// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.Transaction;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.Limits;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * The rules that match one request, and the charges for the request. The charges of shadow rules
 * are kept separately, so that a shadow rule cannot refuse a request that the other rules admit.
 *
 * <p>A match charges nothing itself. {@link RequestLimiter} spends the transactions of the match,
 * or a caller spends them together with other transactions.
 */
public final class Match {

  private final boolean denied;
  private final Batch<Ending> enforced;
  private final List<Trial> trials;

  private Match(boolean denied, Batch<Ending> enforced, List<Trial> trials) {
    this.denied = denied;
    this.enforced = enforced;
    this.trials = trials;
  }

  static Match of(RequestRules.Charges charges) {
    Batch<Ending> enforced = new Batch<>();
    charges.enforced().forEach(one -> enforced.add(one, null));
    List<Trial> trials =
        charges.trials().stream()
            .map(
                one ->
                    new Trial(
                        one.name(),
                        () -> {
                          Batch<Ending> batch = new Batch<>();
                          batch.add(one, null);
                          return CompletableFuture.completedFuture(batch);
                        }))
            .toList();
    return new Match(charges.denied(), enforced, trials);
  }

  /** The transactions of a request under an enforced rule. */
  private record Enforced(Rule rule, CompletableFuture<List<Transaction>> transactions) {}

  /** Matches a request. The future completes when the application has supplied all quotas. */
  static CompletableFuture<Match> of(List<Rule> rules, RequestFacts facts, Limits limits) {
    List<Trial> trials = new ArrayList<>();
    List<Enforced> enforced = new ArrayList<>();
    for (Rule rule : rules) {
      List<Rule.Reading> readings = readings(rule, facts);
      if (readings.isEmpty()) {
        continue;
      }
      if (rule.isShadow()) {
        trials.add(new Trial(rule.where(), () -> trial(rule, readings, limits)));
      } else {
        enforced.add(new Enforced(rule, rule.transactions(limits, readings)));
      }
    }
    return CompletableFuture.allOf(
            enforced.stream().map(Enforced::transactions).toArray(CompletableFuture<?>[]::new))
        .handle(
            (done, failure) -> {
              Batch<Ending> batch = new Batch<>();
              for (Enforced one : enforced) {
                // join() throws if the rule's transactions could not be computed.
                for (Transaction transaction : one.transactions.join()) {
                  add(batch, transaction, one.rule);
                }
              }
              return new Match(false, batch, List.copyOf(trials));
            });
  }

  private static void add(Batch<Ending> batch, Transaction transaction, Rule rule) {
    try {
      Predicate<Integer> counts = rule.counts();
      Predicate<Ending> counted =
          counts == null ? null : end -> end.status() == null || counts.test(end.status());
      if (rule.isEstimated()) {
        batch.addEstimate(transaction, counted, Ending::cost);
      } else {
        batch.add(transaction, counted);
      }
    } catch (InvalidRequestException e) {
      throw new UnusableRequestException("the request can never be allowed: " + e.getMessage());
    }
  }

  /**
   * Returns the interpretations of a request that match a rule; empty if a shadow rule cannot use
   * the request.
   */
  private static List<Rule.Reading> readings(Rule rule, RequestFacts facts) {
    try {
      return rule.match(facts);
    } catch (UnusableRequestException e) {
      if (rule.isShadow()) {
        return List.of();
      }
      throw e;
    }
  }

  /**
   * Returns the transactions of the enforced rules, one per bucket, to charge all or none. If
   * several rules charge a bucket, its transaction has the highest cost of these rules, and the
   * quota that {@link Batch} chooses.
   *
   * @return the transactions; empty if nothing limits the request
   */
  public List<Transaction> transactions() {
    return enforced.transactions();
  }

  Batch<Ending> enforced() {
    return enforced;
  }

  List<Trial> trials() {
    return trials;
  }

  /** Returns whether a rule denies the request, independently of limits. */
  boolean isDenied() {
    return denied;
  }

  private static CompletableFuture<Batch<Ending>> trial(
      Rule rule, List<Rule.Reading> readings, Limits limits) {
    return rule.transactions(limits, readings)
        .thenApply(
            transactions -> {
              Batch<Ending> batch = new Batch<>();
              transactions.forEach(one -> add(batch, one.inShadow(), rule));
              return batch;
            });
  }

  /**
   * A shadow rule that matches the request.
   *
   * @param rule a description of the rule, for the log
   * @param charges starts to compute the charges of the shadow rule's own buckets; throws an {@link
   *     UnusableRequestException} if the request lacks a value that the rule needs
   */
  record Trial(Object rule, Supplier<CompletableFuture<Batch<Ending>>> charges) {

    CompletableFuture<Batch<Ending>> batch() {
      return charges.get();
    }
  }
}
