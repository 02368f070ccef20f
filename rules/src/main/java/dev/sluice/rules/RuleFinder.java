// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.rules.RuleBook.DescriptorEntry;
import dev.sluice.rules.RuleMatch.RuleCharging;
import dev.sluice.web.PathPattern;
import dev.sluice.web.RequestFacts;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Finds the first rule that matches a descriptor or a request. A rule for descriptors is indexed by
 * its keys, and also by its values if the rule has no patterns. A rule for requests is indexed by
 * the first segments of its paths. Thread-safe after the last rule was added.
 */
final class RuleFinder {

  private final Map<List<String>, InOrder<List<String>, DescriptorRule>> descriptors =
      new HashMap<>();
  private final InOrder<String, RequestRule> requests = new InOrder<>();

  void add(AnyRule rule) {
    if (rule instanceof DescriptorRule descriptor) {
      descriptors
          .computeIfAbsent(descriptor.keys(), keys -> new InOrder<>())
          .add(values(descriptor), descriptor);
    } else if (rule instanceof RequestRule request) {
      requests.add(request.leadingSegments(), request);
    }
  }

  Optional<RuleMatch> match(String domain, List<DescriptorEntry> entries) {
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
              return context == null ? null : rule.charge(context, skipped -> {});
            }));
  }

  /**
   * Finds an earlier rule that matches everything that the given rule matches.
   *
   * @param rule a rule that was not added to this finder
   * @param allowed called before each comparison; if the call returns false, the comparison is
   *     skipped
   * @return the first rule that covers the given rule; null if there is none
   */
  @Nullable AnyRule covering(AnyRule rule, BooleanSupplier allowed) {
    if (rule instanceof RequestRule request) {
      // A covering rule is indexed under every first segment of the covered rule, or is tried for
      // every segment. A search for one first segment of the covered rule therefore finds every
      // covering rule.
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

  private static List<String> keys(List<DescriptorEntry> entries) {
    List<String> keys = new ArrayList<>(entries.size());
    for (DescriptorEntry entry : entries) {
      keys.add(entry.key());
    }
    return keys;
  }

  private static List<String> values(List<DescriptorEntry> entries) {
    List<String> values = new ArrayList<>(entries.size());
    for (DescriptorEntry entry : entries) {
      values.add(entry.value());
    }
    return values;
  }

  /** Returns the values of a rule as one index key; empty if one of the values is a pattern. */
  private static List<List<String>> values(DescriptorRule rule) {
    List<String> values = new ArrayList<>(rule.wanted().size());
    for (DescriptorRule.Wanted wanted : rule.wanted()) {
      if (wanted.value().isOpen()) {
        return List.of();
      }
      values.add(wanted.value().value());
    }
    return List.of(values);
  }

  /** A rule for descriptors or for requests. */
  sealed interface AnyRule permits DescriptorRule, RequestRule {

    RuleCharging<?> charging();

    /** Returns whether this rule certainly matches everything that the other rule matches. */
    boolean covers(AnyRule other);

    /** Whether the rule matches IPv4 clients, but charges them no enforced limit. */
    default boolean skipsIpv4() {
      return charging().skipsIpv4();
    }

    /** Returns the line where the rule starts, from 1. */
    default int line() {
      return charging().line();
    }
  }

  /*
   * A book can have tens of thousands of rules. A search tries only two kinds of rules: rules under
   * one of the given keys, and rules for any key. Each list of rules is in the order of the file,
   * and a search goes through all lists in the order of the file.
   */
  /**
   * An index of rules that keeps the order of the file. Thread-safe after the last rule was added.
   *
   * @param <K> the type of the keys
   * @param <R> the type of the rules
   */
  private static final class InOrder<K, R> {

    private record Placed<R>(int place, R rule) {}

    private final Map<K, List<Placed<R>>> byKey = new HashMap<>();
    private final List<Placed<R>> forAny = new ArrayList<>();
    private int size;

    /**
     * Adds a rule after all others.
     *
     * @param keys the keys of the rule; empty for a rule that is tried for every key
     */
    void add(Collection<K> keys, R rule) {
      Placed<R> placed = new Placed<>(size++, rule);
      if (keys.isEmpty()) {
        forAny.add(placed);
      }
      for (K key : new HashSet<>(keys)) {
        byKey.computeIfAbsent(key, k -> new ArrayList<>()).add(placed);
      }
    }

    boolean hasKeys() {
      return !byKey.isEmpty();
    }

    /**
     * Calls a function with the rules under some keys and the rules for any key, in the order of
     * the file, until the function returns a value.
     *
     * @param answer the function; returns null for a rule that does not match
     * @return the first result that is not null; null if all results are null
     */
    <T> @Nullable T first(Collection<K> keys, Function<R, @Nullable T> answer) {
      List<List<Placed<R>>> lists = new ArrayList<>(keys.size() + 1);
      lists.add(forAny);
      for (K key : keys) {
        List<Placed<R>> list = byKey.get(key);
        if (list != null) {
          lists.add(list);
        }
      }
      int[] at = new int[lists.size()];
      int next = next(lists, at);
      while (next >= 0) {
        T found = answer.apply(lists.get(next).get(at[next]++).rule);
        if (found != null) {
          return found;
        }
        next = next(lists, at);
      }
      return null;
    }

    /** Returns the index of the list whose next rule comes first in the file; -1 for none. */
    private static <R> int next(List<List<Placed<R>>> lists, int[] at) {
      int next = -1;
      int place = Integer.MAX_VALUE;
      for (int i = 0; i < at.length; i++) {
        List<Placed<R>> list = lists.get(i);
        if (at[i] < list.size() && list.get(at[i]).place < place) {
          next = i;
          place = list.get(at[i]).place;
        }
      }
      return next;
    }
  }
}
