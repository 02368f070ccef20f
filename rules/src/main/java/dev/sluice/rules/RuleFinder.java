// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.web.PathPattern;
import dev.sluice.web.RequestFacts;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Finds the first rule for a descriptor or a request among many. Rules for descriptors are filed
 * under their keys, and under their values where none is a pattern. Rules for requests are filed
 * under the first segment of their paths. Thread-safe once filled.
 */
final class RuleFinder {

  private final Map<List<String>, InOrder<List<String>, DescriptorRule>> descriptors =
      new HashMap<>();
  private final InOrder<String, RequestRule> requests = new InOrder<>();

  /** Adds a rule behind the others. */
  void add(AnyRule rule) {
    if (rule instanceof DescriptorRule descriptor) {
      descriptors
          .computeIfAbsent(descriptor.keys(), keys -> new InOrder<>())
          .add(values(descriptor), descriptor);
    } else if (rule instanceof RequestRule request) {
      requests.add(request.leadingSegments(), request);
    }
  }

  Optional<RuleMatch> match(String domain, List<Entry> entries) {
    InOrder<List<String>, DescriptorRule> alike = descriptors.get(keys(entries));
    if (alike == null) {
      return Optional.empty();
    }
    List<List<String>> values = alike.hasKeys() ? List.of(values(entries)) : List.of();
    return Optional.ofNullable(
        alike.first(
            values, rule -> rule.matchesValues(domain, entries) ? rule.match(entries) : null));
  }

  Optional<RuleMatch> match(RequestFacts facts) {
    List<String> segments = requests.hasKeys() ? facts.leadingSegments() : List.of();
    return Optional.ofNullable(
        requests.first(
            segments,
            rule -> {
              RequestRule.Context context = rule.match(facts).context();
              return context == null ? null : rule.charge(context);
            }));
  }

  /**
   * Finds a rule that matches whatever another one does, and comes before it.
   *
   * @param rule a rule that is not among these
   * @param allowed asked before each comparison; where it is false, nothing is compared
   * @return the first such rule; null if none was found
   */
  @Nullable AnyRule covering(AnyRule rule, BooleanSupplier allowed) {
    if (rule instanceof RequestRule request) {
      // One that covers it has all of its first segments, or may have any.
      List<String> segments =
          request.leadingSegments().stream()
              .limit(1)
              .flatMap(segment -> Stream.of(segment, PathPattern.folded(segment)))
              .distinct()
              .toList();
      return requests.first(
          segments, one -> allowed.getAsBoolean() && one.covers(rule) ? one : null);
    }
    DescriptorRule descriptor = (DescriptorRule) rule;
    InOrder<List<String>, DescriptorRule> alike = descriptors.get(descriptor.keys());
    return alike == null
        ? null
        : alike.first(
            values(descriptor), one -> allowed.getAsBoolean() && one.covers(rule) ? one : null);
  }

  private static List<String> keys(List<Entry> entries) {
    List<String> keys = new ArrayList<>(entries.size());
    for (Entry entry : entries) {
      keys.add(entry.key());
    }
    return keys;
  }

  private static List<String> values(List<Entry> entries) {
    List<String> values = new ArrayList<>(entries.size());
    for (Entry entry : entries) {
      values.add(entry.value());
    }
    return values;
  }

  /** The values that a rule is for, as one key; none where one of them is a pattern. */
  private static List<List<String>> values(DescriptorRule rule) {
    List<String> values = new ArrayList<>(rule.wanted().size());
    for (DescriptorRule.Wanted wanted : rule.wanted()) {
      if (wanted.value().open()) {
        return List.of();
      }
      values.add(wanted.value().text());
    }
    return List.of(values);
  }
}
