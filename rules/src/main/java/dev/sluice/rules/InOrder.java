// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/*
 * A book may have tens of thousands of rules. A request looks at those that are filed under what it
 * has, and at those for any key. Both are kept in the order of the file, and are gone through as
 * one list.
 */
/**
 * Rules in the order of the file, each filed under the keys by which it is looked for. Thread-safe
 * once filled.
 *
 * @param <K> the keys
 * @param <R> the rules
 */
final class InOrder<K, R> {

  private record Placed<R>(int place, R rule) {}

  private final Map<K, List<Placed<R>>> byKey = new HashMap<>();
  private final List<Placed<R>> forAny = new ArrayList<>();
  private int size;

  /**
   * Adds a rule behind the others.
   *
   * @param keys those under which it may be found; none for a rule that is looked at for every key
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

  /** Whether a key makes a difference. */
  boolean hasKeys() {
    return !byKey.isEmpty();
  }

  /**
   * Asks the rules under some keys and those for any key, in the order of the file, until one
   * answers.
   *
   * @param answer null from a rule that is not meant
   * @return the first answer, null if there is none
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

  /** The list whose next rule comes first in the file, -1 behind the last rule. */
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
