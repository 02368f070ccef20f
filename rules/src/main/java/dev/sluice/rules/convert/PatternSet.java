// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules.convert;

import dev.sluice.rules.ValuePattern;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/*
 * A prefix tree holds the patterns, and patterns with a common beginning share its nodes. A second
 * tree holds the reversed patterns. A search follows all patterns at once and drops the patterns
 * that do not match the text so far. So the time of a search depends on the number of patterns that
 * nearly match, not on the number of all patterns.
 */
/** A set of patterns with stars. Not thread-safe. */
final class PatternSet {

  /** A node of the prefix tree: a beginning of one or more patterns. */
  private static final class Node {
    final boolean endsInStar;
    final Map<Character, Node> next = new HashMap<>(2);
    @Nullable Node star;
    @Nullable ValuePattern pattern;

    /** The number of patterns that begin with the text of this node. */
    int size;

    Node(boolean endsInStar) {
      this.endsInStar = endsInStar;
    }
  }

  private final Node begins = new Node(false);
  private final Node ends = new Node(false);
  private final AtomicLong steps;

  /**
   * Makes an empty set.
   *
   * @param steps counts the nodes that searches visit, so that a test can bound this number
   */
  PatternSet(AtomicLong steps) {
    this.steps = steps;
  }

  /** Adds a pattern, which must have a star. */
  void add(ValuePattern pattern) {
    add(pattern, begins);
    add(turned(pattern), ends);
  }

  private static void add(ValuePattern pattern, Node root) {
    Node at = root;
    at.size++;
    for (int i = 0; i < pattern.pieces().size(); i++) {
      if (i > 0) {
        at.star = Objects.requireNonNullElseGet(at.star, () -> new Node(true));
        at = at.star;
        at.size++;
      }
      String piece = pattern.pieces().get(i);
      for (int j = 0; j < piece.length(); j++) {
        at = at.next.computeIfAbsent(piece.charAt(j), c -> new Node(false));
        at.size++;
      }
    }
    at.pattern = pattern;
  }

  private static ValuePattern turned(ValuePattern pattern) {
    List<String> pieces = new ArrayList<>();
    for (String piece : pattern.pieces()) {
      pieces.add(0, new StringBuilder(piece).reverse().toString());
    }
    return new ValuePattern(pieces);
  }

  boolean matches(String value) {
    Set<Node> active = new LinkedHashSet<>();
    reach(begins, active);
    for (int i = 0; i < value.length() && !active.isEmpty(); i++) {
      Set<Node> next = new LinkedHashSet<>();
      for (Node node : active) {
        if (node.endsInStar) {
          reach(node, next);
        }
        reach(node.next.get(value.charAt(i)), next);
      }
      steps.addAndGet(active.size());
      active = next;
    }
    return active.stream().anyMatch(node -> node.pattern != null);
  }

  /** Adds a node. */
  private static void reach(@Nullable Node node, Set<Node> active) {
    Node at = node;
    while (at != null && active.add(at)) {
      at = at.star;
    }
  }

  /** Whether some value matches the given pattern and a pattern of this set. */
  boolean meets(ValuePattern pattern) {
    ValuePattern turned = turned(pattern);
    List<Node> alike = alike(pattern.pieces().get(0), begins);
    List<Node> alikeFromEnd = alike(turned.pieces().get(0), ends);
    return size(alike) < size(alikeFromEnd)
        ? anyMeets(pattern, alike)
        : anyMeets(turned, alikeFromEnd);
  }

  /** Returns nodes whose text before the first star is a prefix of {@code begin}, or vice versa. */
  private List<Node> alike(String begin, Node root) {
    List<Node> alike = new ArrayList<>();
    Node at = root;
    for (int i = 0; i < begin.length() && at != null; i++) {
      if (at.star != null) {
        alike.add(at.star);
      }
      at = at.next.get(begin.charAt(i));
    }
    if (at != null) {
      alike.add(at);
    }
    steps.addAndGet(begin.length());
    return alike;
  }

  private static int size(List<Node> nodes) {
    return nodes.stream().mapToInt(node -> node.size).sum();
  }

  private boolean anyMeets(ValuePattern pattern, List<Node> alike) {
    Deque<Node> next = new ArrayDeque<>(alike);
    while (!next.isEmpty()) {
      Node node = next.pop();
      steps.incrementAndGet();
      if (node.pattern != null && node.pattern.meets(pattern)) {
        return true;
      }
      node.next.values().forEach(next::push);
      if (node.star != null) {
        next.push(node.star);
      }
    }
    return false;
  }
}
