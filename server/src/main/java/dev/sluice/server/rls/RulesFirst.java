// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import dev.sluice.Transaction;
import dev.sluice.envoy.RateLimitDescriptor;
import dev.sluice.limit.InvalidIdException;
import dev.sluice.limit.Limits;
import dev.sluice.limit.MissingDefaultException;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.RuleBook.DescriptorEntry;
import dev.sluice.rules.RuleMatch;
import dev.sluice.rules.RuleMatch.RuleCharge;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The rule book that came with the limits. Where it has no rule for a descriptor, {@link
 * NamedLimits} decide, unless the book says that the rules of the domain are its only mapping.
 * Thread-safe.
 */
final class RulesFirst implements Mapping {

  private final Mapping otherwise;
  private final Consumer<Transaction> requireDefault;

  /**
   * Makes a mapping.
   *
   * @param requireDefault throws for a transaction whose default is missing
   */
  RulesFirst(Mapping otherwise, Consumer<Transaction> requireDefault) {
    this.otherwise = otherwise;
    this.requireDefault = requireDefault;
  }

  @Override
  public Mapped map(String domain, List<RateLimitDescriptor.Entry> entries, Limits limits) {
    RuleBook book = RuleBook.of(limits);
    if (book.size() > 0) {
      List<DescriptorEntry> asked = new ArrayList<>(entries.size());
      for (RateLimitDescriptor.Entry entry : entries) {
        asked.add(new DescriptorEntry(entry.getKey(), entry.getValue()));
      }
      Optional<RuleMatch> match = book.match(domain, asked);
      if (match.isPresent()) {
        return mapped(match.get(), limits);
      }
      if (book.isRulesOnly(domain)) {
        return Unmatched.INSTANCE;
      }
    }
    return otherwise.map(domain, entries, limits);
  }

  private Mapped mapped(RuleMatch match, Limits limits) {
    return switch (match.verdict()) {
      case UNLIMITED -> new Unlimited(match.replaces());
      case DENIES -> new Denied("a rule denies this descriptor", match.replaces());
      case CHARGES -> limited(match, limits);
    };
  }

  private Limited limited(RuleMatch match, Limits limits) {
    List<Line> lines = new ArrayList<>(match.charges().size());
    for (RuleCharge charge : match.charges()) {
      try {
        Transaction transaction = charge.transaction(limits);
        requireDefault.accept(transaction);
        lines.add(new Line(transaction, charge.fixedCost(), charge.excess()));
      } catch (InvalidIdException | MissingDefaultException e) {
        if (!charge.shadow()) { // what is in shadow refuses nobody
          throw e;
        }
      }
    }
    // Where each of its limits is skipped, it charges nothing in the place of others.
    return new Limited(lines, lines.isEmpty() ? List.of() : match.replaces());
  }
}
