// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import dev.sluice.Transaction;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException.MissingDefaultException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.rules.GroupedAddress;
import dev.sluice.rules.JoinedIds;
import dev.sluice.rules.RuleBook;
import dev.sluice.rules.RuleBook.DescriptorEntry;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Finds the limit whose name a descriptor contains; no rule is needed. The name is the key of the
 * descriptor's only entry, or the value of its first entry if the first key is {@code limit} or
 * {@code generic_key}. In a domain {@code d}, the limit {@code d.Name} takes precedence over {@code
 * Name}.
 */
public final class NamedLimits {

  private static final Set<String> NAMING_KEYS = Set.of("limit", "generic_key");

  private NamedLimits() {}

  /**
   * Returns the transaction that Envoy's rate limit service charges for a descriptor without a
   * rule.
   *
   * @return the transaction with a cost of 1; null if the descriptor names no limit, or its domain
   *     is mapped only by rules
   * @throws dev.sluice.limit.InvalidRequestException.InvalidIdException if the values make no valid
   *     id of the limit
   * @throws MissingDefaultException if the limit's configuration has no default quota
   */
  public static @Nullable Transaction find(
      String domain, List<DescriptorEntry> entries, Limits limits) {
    Transaction named =
        RuleBook.of(limits).isRulesOnly(domain) ? null : named(domain, entries, limits);
    if (named != null && named.coverage().isMissing()) {
      throw MissingDefaultException.of(List.of(named.name()));
    }
    return named;
  }

  /** Returns the transaction for a descriptor without a rule. */
  static @Nullable Transaction named(String domain, List<DescriptorEntry> entries, Limits limits) {
    if (entries.isEmpty()) {
      return null;
    }
    DescriptorEntry first = entries.get(0);
    List<DescriptorEntry> sent = entries;
    LimitName limit = entries.size() == 1 ? find(domain, first.key(), limits) : null;
    if (limit == null && NAMING_KEYS.contains(first.key())) {
      limit = find(domain, first.value(), limits);
      sent = entries.subList(1, entries.size());
    }
    return limit == null
        ? null
        : Transaction.of(limits, limit.name(), id(limit, grouped(limit, sent)));
  }

  /** Returns the values of entries; replaces IP addresses by their networks, as in a rule. */
  private static List<String> grouped(LimitName limit, List<DescriptorEntry> sent) {
    List<IdFormat> parts = limit.id().parts();
    List<String> values = new ArrayList<>(sent.size());
    for (int i = 0; i < sent.size(); i++) {
      IdFormat format = parts.size() == sent.size() ? parts.get(i) : limit.id();
      String value = sent.get(i).value();
      values.add(
          GroupedAddress.isIn(sent.get(i).key(), format)
              ? GroupedAddress.of(value)
              : sent.size() == 1 ? groupedWithin(limit.id(), value) : value);
    }
    return values;
  }

  /** Replaces IP addresses by their networks in a value, which can be an id of several parts. */
  private static String groupedWithin(IdFormat format, String value) {
    if (format.parts().size() == 1) {
      return value;
    }
    List<String> texts = new ArrayList<>(format.split(format.canonical(value, Strictness.LENIENT)));
    for (int i = 0; i < texts.size(); i++) {
      texts.set(
          i,
          GroupedAddress.isIn("", format.parts().get(i))
              ? GroupedAddress.of(texts.get(i))
              : texts.get(i));
    }
    return format.join(texts, Strictness.LENIENT);
  }

  /**
   * Returns the limit {@code domain.name}; the limit {@code name} if {@code domain.name} is missing
   * or not configured.
   */
  private static @Nullable LimitName find(String domain, String name, Limits limits) {
    LimitName ofDomain = limits.catalogue().find(domain + "." + name);
    LimitName plain = limits.catalogue().find(name);
    boolean isPlain = ofDomain == null || (plain != null && !limits.isConfigured(ofDomain));
    return isPlain ? plain : ofDomain;
  }

  /** Joins a descriptor's values to a bucket id; different lists of one length never collide. */
  static String id(LimitName limit, List<String> values) {
    if (values.size() <= 1) {
      return JoinedIds.ofOne(String.join("", values));
    }
    boolean parts = values.size() == limit.id().parts().size();
    return parts ? limit.id().join(values, Strictness.LENIENT) : JoinedIds.of(values);
  }
}
