// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Rules that apply together, and the resolver for the client's address.
 *
 * <p>Immutable and thread-safe. Matching does not block and does not call a store, but calls the
 * application's functions if the rules have functions.
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
   * @param rules the rules; the list is copied
   * @param clientAddress finds the client's address
   * @return the rules
   */
  public static Rules of(List<Rule> rules, ClientAddress clientAddress) {
    return new Rules(List.copyOf(rules), clientAddress, null);
  }

  static Rules of(RequestRules book, ClientAddress clientAddress) {
    return new Rules(List.of(), clientAddress, book);
  }

  /**
   * Matches a request against the rules, and computes its charges. Waits for the quotas that the
   * application supplies.
   *
   * @param request the request
   * @param limits the current limits
   * @return the matching rules with their transactions; empty if no rule matches the request
   * @throws UnusableRequestException if the request lacks a value that an enforced rule needs
   * @throws dev.sluice.limit.InvalidRequestException.UnknownLimitException for an unknown limit
   * @throws QuotaFailedException if the application could not supply the quota of an enforced rule
   */
  public Match match(WebRequest request, Limits limits) {
    return Batch.join(matchAsync(request, limits));
  }

  /**
   * Does the same as {@link #match} without waiting; every failure completes the future
   * exceptionally.
   */
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
   * Returns the mistakes of these rules under the given limits: unknown limits, ids that do not
   * have the limit's format, a cost above the burst.
   *
   * @param limits the limits
   * @return one message per mistake; empty if there is none
   */
  public List<String> faults(Limits limits) {
    return rules.stream().flatMap(rule -> rule.faults(limits).stream()).toList();
  }

  /**
   * Returns the limits that these rules need, and that all limits loaded later must contain.
   *
   * @param now the current limits; a limit that has a default now must also have a default later
   * @param onMissing what happens if one of the limits has no default
   * @return the different requirements
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
