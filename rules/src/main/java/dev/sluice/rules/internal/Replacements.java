// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules.internal;

import dev.sluice.internal.text.SafeText;
import dev.sluice.yaml.internal.Node;
import dev.sluice.yaml.internal.Problems;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/*
 * The limits are the nodes of a graph. An edge leads from each limit that a rule charges to each
 * limit that the rule replaces. Without a cycle, every request is charged for at least one
 * descriptor: a descriptor that no other descriptor replaces. In a cycle each limit replaces the
 * next limit, so a request with a descriptor for each limit of the cycle is charged nothing. A
 * limit that replaces itself is a cycle of one limit: two descriptors of one request replace each
 * other.
 *
 * All descriptors of a request have one domain, so a cycle consists of rules of one domain and
 * rules for any domain.
 */
/**
 * Finds limits of one file that replace themselves or each other. Names are compared as written, so
 * a cycle with an unknown limit is found too. Not thread-safe.
 */
public final class Replacements {

  /** How many cycles are reported at most; further cycles probably have the same cause. */
  private static final int MOST_TOLD = 20;

  private record Rule(
      @Nullable String domain, Set<String> own, Set<String> replaced, Node at, String elsewhere) {

    String place() {
      return at.line() + (elsewhere.isEmpty() ? "" : " of " + elsewhere);
    }
  }

  private final List<Rule> rules = new ArrayList<>();
  private final Set<String> told = new HashSet<>();

  /** Makes an empty set of rules. */
  public Replacements() {}

  /**
   * Adds a rule.
   *
   * @param domain the rule's domain; null for any domain
   * @param own the limits that the rule charges
   * @param replaced the limits that are not charged for other descriptors of a request if the rule
   *     matches one of its descriptors
   * @param at where the rule starts
   * @param elsewhere the name of the rule's file if the file's mistakes were reported before;
   *     otherwise empty
   */
  public void add(
      @Nullable String domain,
      Collection<String> own,
      Collection<String> replaced,
      Node at,
      String elsewhere) {
    if (!replaced.isEmpty()) {
      rules.add(
          new Rule(domain, new LinkedHashSet<>(own), new LinkedHashSet<>(replaced), at, elsewhere));
    }
  }

  /**
   * Reports each rule that replaces one of its own limits, and each cycle of limits that replace
   * each other, with the lines of the rules.
   *
   * @param problems receives the mistakes
   */
  public void report(Problems problems) {
    for (Rule rule : rules) {
      for (String name : rule.replaced) {
        if (rule.own.contains(name) && rule.elsewhere.isEmpty()) {
          problems.mistake(
              rule.at,
              "the rule on line %s replaces %s, which the rule also charges: two descriptors of one request that match this rule would both be charged nothing"
                  .formatted(rule.at.line(), SafeText.quote(name)));
        }
      }
    }
    Set<@Nullable String> domains = new LinkedHashSet<>();
    // A cycle among rules for any domain is reported once, not once for each domain.
    domains.add(null);
    rules.forEach(rule -> domains.add(rule.domain));
    for (String domain : domains) {
      reportCircles(
          rules.stream().filter(rule -> rule.domain == null || rule.domain.equals(domain)).toList(),
          problems);
    }
  }

  private void reportCircles(List<Rule> met, Problems problems) {
    Map<String, Set<String>> edges = new LinkedHashMap<>();
    for (Rule rule : met) {
      for (String own : rule.own) {
        for (String replaced : rule.replaced) {
          if (!own.equals(replaced)) {
            edges.computeIfAbsent(own, name -> new LinkedHashSet<>()).add(replaced);
          }
        }
      }
    }
    withoutEnds(edges);
    for (String start : List.copyOf(edges.keySet())) {
      List<String> circle = shortestCircle(start, edges);
      if (!circle.isEmpty() && told.size() < MOST_TOLD) {
        tell(fromSmallest(circle), met, problems);
      }
    }
  }

  /** Removes the limits from which no path leads to a cycle. */
  private static void withoutEnds(Map<String, Set<String>> edges) {
    Map<String, List<String>> replacedBy = new HashMap<>();
    Deque<String> ends = new ArrayDeque<>();
    edges.forEach(
        (own, all) -> {
          for (String replaced : all) {
            replacedBy.computeIfAbsent(replaced, name -> new ArrayList<>()).add(own);
            if (!edges.containsKey(replaced)) {
              ends.add(replaced);
            }
          }
        });
    while (!ends.isEmpty()) {
      String end = ends.remove();
      for (String own : replacedBy.getOrDefault(end, List.of())) {
        Set<String> left = edges.get(own);
        if (left != null && left.remove(end) && left.isEmpty()) {
          edges.remove(own);
          ends.add(own);
        }
      }
    }
  }

  /** Returns a shortest cycle in which each limit replaces the next; empty if there is no cycle. */
  private static List<String> shortestCircle(String start, Map<String, Set<String>> edges) {
    Map<String, String> reachedFrom = new HashMap<>();
    Deque<String> next = new ArrayDeque<>(List.of(start));
    while (!next.isEmpty() && !reachedFrom.containsKey(start)) {
      String own = next.remove();
      for (String replaced : edges.getOrDefault(own, Set.of())) {
        if (reachedFrom.putIfAbsent(replaced, own) == null) {
          next.add(replaced);
        }
      }
    }
    List<String> circle = new ArrayList<>();
    if (reachedFrom.containsKey(start)) {
      String at = start;
      do {
        at = Objects.requireNonNull(reachedFrom.get(at));
        circle.add(0, at);
      } while (!at.equals(start));
    }
    return circle;
  }

  /** Rotates a cycle so that it begins with its smallest name. */
  private static List<String> fromSmallest(List<String> circle) {
    List<String> turned = new ArrayList<>(circle);
    Collections.rotate(turned, -turned.indexOf(Collections.min(turned)));
    return turned;
  }

  private void tell(List<String> circle, List<Rule> met, Problems problems) {
    List<String> steps = new ArrayList<>();
    Node first = null;
    for (int i = 0; i < circle.size(); i++) {
      String own = circle.get(i);
      String replaced = circle.get((i + 1) % circle.size());
      Set<String> lines = new LinkedHashSet<>();
      for (Rule rule : met) {
        if (rule.own.contains(own) && rule.replaced.contains(replaced)) {
          lines.add(rule.place());
          first = rule.elsewhere.isEmpty() ? first(first, rule.at) : first;
        }
      }
      steps.add(
          "%s replaces %s (%s %s)"
              .formatted(
                  SafeText.quote(own),
                  SafeText.quote(replaced),
                  lines.size() == 1 ? "line" : "lines",
                  String.join(", ", lines)));
    }
    String message =
        "found limits that replace each other: %s; a request with a descriptor for each of these limits would be charged nothing"
            .formatted(String.join(", ", steps));
    if (first != null && told.add(message)) {
      problems.mistake(first, message);
    }
  }

  private static Node first(@Nullable Node first, Node at) {
    return first == null || at.line() < first.line() ? at : first;
  }
}
