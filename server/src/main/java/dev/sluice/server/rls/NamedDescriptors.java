// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import dev.sluice.Transaction;
import dev.sluice.envoy.RateLimitDescriptor;
import dev.sluice.limit.Limits;
import dev.sluice.limit.MissingDefaultException;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.RuleBook.DescriptorEntry;
import dev.sluice.server.rls.Mapping.Limited;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What Envoy's door charges a descriptor that no rule is for. Stateless and thread-safe. */
public final class NamedDescriptors {

  private static final NamedLimits NAMED =
      new NamedLimits(
          named -> {
            if (named.coverage().isMissing()) {
              throw MissingDefaultException.of(List.of(named.name()));
            }
          });

  private NamedDescriptors() {}

  /**
   * Finds the limit that a descriptor names itself.
   *
   * @param domain the descriptor's domain
   * @param entries its entries, in order
   * @param limits the limits in force
   * @return the transaction at a cost of 1; null if the descriptor names none, or the rules of its
   *     domain are its only mapping
   * @throws dev.sluice.limit.InvalidIdException if its values make no id of that limit
   * @throws MissingDefaultException if that limit has no default
   */
  public static @Nullable Transaction find(
      String domain, List<DescriptorEntry> entries, Limits limits) {
    if (RuleBook.of(limits).isRulesOnly(domain)) {
      return null;
    }
    List<RateLimitDescriptor.Entry> sent = new ArrayList<>(entries.size());
    for (DescriptorEntry entry : entries) {
      sent.add(
          RateLimitDescriptor.Entry.newBuilder()
              .setKey(entry.key())
              .setValue(entry.value())
              .build());
    }
    return NAMED.map(domain, sent, limits) instanceof Limited limited
        ? limited.lines().get(0).transaction()
        : null;
  }
}
