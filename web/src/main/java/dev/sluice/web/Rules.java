// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Rules that apply together, and how the client's address is found for them.
 *
 * <p>Immutable and thread-safe. Matching does not block and asks no store; it calls the
 * application's functions, if a rule has some.
 */
public final class Rules {

  private final List<Rule> rules;
  private final ClientAddress clientAddress;
  private final boolean readsMethodOverride;
  private final @Nullable RequestRules book;

  private Rules(List<Rule> rules, ClientAddress clientAddress, @Nullable RequestRules book) {
    this.rules = rules;
    this.clientAddress = clientAddress;
    this.readsMethodOverride = rules.stream().anyMatch(Rule::readsMethodOverride);
    this.book = book;
  }

  /**
   * Makes a set of rules.
   *
   * @param rules the rules; copied
   * @param clientAddress how the client's address is found
   * @return the rules
   */
  public static Rules of(List<Rule> rules, ClientAddress clientAddress) {
    return new Rules(List.copyOf(rules), clientAddress, null);
  }

  static Rules of(RequestRules book, ClientAddress clientAddress) {
    return new Rules(List.of(), clientAddress, book);
  }

  /**
   * Finds the rules that match a request, and what they charge it. Waits for the quotas that the
   * application supplies.
   *
   * @param request the request
   * @param limits the limits that hold now
   * @return the rules with their transactions; empty if no rule is for the request
   * @throws UnusableRequestException if the request lacks what an enforced rule needs
   * @throws dev.sluice.limit.InvalidRequestException.UnknownLimitException if the limits lack a
   *     limit that a rule names
   * @throws QuotaFailedException if the application could not supply the quota of an enforced rule
   */
  public Match match(WebRequest request, Limits limits) {
    return Batch.join(matchAsync(request, limits));
  }

  /** Does the same without waiting. Throws nothing: the stage has every failure. */
  CompletableFuture<Match> matchAsync(WebRequest request, Limits limits) {
    try {
      return book == null
          ? Match.of(rules, new RequestFacts(request, clientAddress, readsMethodOverride), limits)
          : CompletableFuture.completedFuture(
              Match.of(book.charges(request, clientAddress, limits)));
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /**
   * Returns the mistakes of these rules under the limits: unknown limits, ids of another form, a
   * cost above the burst.
   *
   * @param limits the limits
   * @return one message for each mistake; empty if the rules fit
   */
  public List<String> faults(Limits limits) {
    return rules.stream().flatMap(rule -> rule.faults(limits).stream()).toList();
  }

  /**
   * Returns the limits that these rules name, as requirements on each replacement of the limits.
   *
   * @param now the current limits; a default that they have must stay
   * @param onMissing what happens where one of them has no default
   * @return each once
   */
  public List<Requirement> requirements(Limits now, MissingDefault onMissing) {
    return rules.stream()
        .flatMap(rule -> rule.requirements(now, onMissing).stream())
        .distinct()
        .toList();
  }

  boolean isEmpty() {
    return book == null ? rules.isEmpty() : book.isEmpty();
  }
}
