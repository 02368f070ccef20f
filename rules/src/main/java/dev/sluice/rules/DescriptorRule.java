// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.text.SafeText;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A rule for descriptors: the same number of entries, with the same keys in the same order.
 * Immutable and thread-safe.
 *
 * @param domain null for any
 * @param replaces the names of limits that other descriptors of a request are not charged
 */
record DescriptorRule(
    @Nullable String domain,
    List<Wanted> wanted,
    List<String> replaces,
    RuleCharging<List<Entry>> charging)
    implements AnyRule {

  /** An entry as a rule has it. */
  record Wanted(String key, ValuePattern value) {}

  /** Null if the rule is for this descriptor, or why it is not. */
  @Nullable String mismatch(String ofDomain, List<Entry> entries) {
    if (domain != null && !domain.equals(ofDomain)) {
      return "it is for the domain %s, not %s"
          .formatted(SafeText.quote(domain), SafeText.quote(ofDomain));
    }
    if (wanted.size() != entries.size()) {
      return "it wants %s, the descriptor has %s"
          .formatted(counted(wanted.size()), counted(entries.size()));
    }
    for (int i = 0; i < wanted.size(); i++) {
      Wanted one = wanted.get(i);
      Entry entry = entries.get(i);
      if (!one.key.equals(entry.key())) {
        return "it wants the key %s as entry %s, not %s"
            .formatted(SafeText.quote(one.key), i + 1, SafeText.quote(entry.key()));
      }
      if (!one.value.matches(entry.value())) {
        return "it wants %s = %s as entry %s, not %s"
            .formatted(
                one.key,
                SafeText.quote(one.value.toString()),
                i + 1,
                SafeText.quote(entry.value()));
      }
    }
    return null;
  }

  private static String counted(int entries) {
    return entries == 1 ? "1 entry" : entries + " entries";
  }

  /** Whether keys are the same is known already. */
  boolean matchesValues(String ofDomain, List<Entry> entries) {
    if (domain != null && !domain.equals(ofDomain)) {
      return false;
    }
    for (int i = 0; i < wanted.size(); i++) {
      if (!wanted.get(i).value.matches(entries.get(i).value())) {
        return false;
      }
    }
    return true;
  }

  /** What it does with a descriptor that it is for. */
  RuleMatch match(List<Entry> entries) {
    RuleMatch match = charging.match(entries);
    return replaces.isEmpty()
        ? match
        : new RuleMatch(match.line(), match.verdict(), match.charges(), replaces);
  }

  List<String> keys() {
    return wanted.stream().map(Wanted::key).toList();
  }

  @Override
  public boolean covers(AnyRule rule) {
    if (!(rule instanceof DescriptorRule other)
        || (domain != null && !domain.equals(other.domain))
        || wanted.size() != other.wanted.size()) {
      return false;
    }
    for (int i = 0; i < wanted.size(); i++) {
      Wanted own = wanted.get(i);
      Wanted its = other.wanted.get(i);
      if (!own.key.equals(its.key) || !own.value.covers(its.value)) {
        return false;
      }
    }
    return true;
  }
}
