// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import dev.sluice.Transaction;
import dev.sluice.envoy.RateLimitDescriptor.Entry;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.server.rules.JoinedIds;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Descriptors that name a limit themselves, so that no rule is needed: the only entry's key, or the
 * first entry's value where its key is {@code limit} or {@code generic_key}. In a domain {@code d}
 * the limit {@code d.Name} goes before {@code Name}. Stateless and thread-safe.
 */
final class NamedLimits implements Mapping {

  /** The id where a descriptor has no value for one: all requests share a bucket. */
  static final String EVERYBODY = "*";

  private static final Set<String> NAMING_KEYS = Set.of("limit", "generic_key");

  @Override
  public Mapped map(String domain, List<Entry> entries, Limits limits) {
    if (entries.isEmpty()) {
      return Unmatched.INSTANCE;
    }
    Entry first = entries.get(0);
    List<String> values = List.of(first.getValue());
    LimitName limit = entries.size() == 1 ? find(domain, first.getKey(), limits) : null;
    if (limit == null && NAMING_KEYS.contains(first.getKey())) {
      limit = find(domain, first.getValue(), limits);
      values = entries.stream().skip(1).map(Entry::getValue).toList();
    }
    return limit == null
        ? Unmatched.INSTANCE
        : new Limited(
            List.of(Line.of(Transaction.of(limits, limit.name(), id(limit, values)))), List.of());
  }

  private static @Nullable LimitName find(String domain, String name, Limits limits) {
    LimitName ofDomain = known(domain + "." + name, limits);
    return ofDomain == null ? known(name, limits) : ofDomain;
  }

  private static @Nullable LimitName known(String name, Limits limits) {
    LimitName known = limits.catalogue().find(name);
    return known != null && limits.isConfigured(known) ? known : null;
  }

  /** The values in their order, so joined that no two lists of values make one id. */
  static String id(LimitName limit, List<String> values) {
    if (values.isEmpty() || values.equals(List.of(""))) {
      return EVERYBODY;
    }
    boolean parts = values.size() > 1 && values.size() == limit.id().parts().size();
    return parts ? limit.id().join(values, Strictness.LENIENT) : JoinedIds.of(values);
  }
}
