// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.limit.Requirement.MissingDefault;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The callers that ask for limits, and how often each said so. Thread-safe. */
final class Requirements {

  private static final Logger LOG = System.getLogger(CurrentLimits.class.getName());

  private final Map<Requirement, Integer> all = new LinkedHashMap<>();
  private final Set<Requirement> warned = new HashSet<>();

  synchronized List<Requirement> unmet(Limits limits) {
    return all.keySet().stream().filter(one -> !one.isMetBy(limits)).toList();
  }

  synchronized void add(Collection<Requirement> more, Limits limits) {
    refuse(more, limits);
    more.forEach(one -> all.merge(one, 1, Integer::sum));
    warn(limits);
  }

  synchronized void remove(Collection<Requirement> some) {
    some.forEach(one -> all.computeIfPresent(one, (key, count) -> count == 1 ? null : count - 1));
  }

  synchronized void check(Limits limits) {
    refuse(all.keySet(), limits);
    warn(limits);
  }

  private static void refuse(Collection<Requirement> some, Limits limits) {
    List<Requirement> missing =
        some.stream()
            .filter(one -> one.onMissing() == MissingDefault.REFUSE && !one.isMetBy(limits))
            .toList();
    if (!missing.isEmpty()) {
      throw MissingDefaultException.ofRequired(missing);
    }
  }

  /** Once for a requirement, until it has been met again. */
  private void warn(Limits limits) {
    for (Requirement one : all.keySet()) {
      if (one.onMissing() == MissingDefault.WARN) {
        if (one.isMetBy(limits)) {
          warned.remove(one);
        } else if (warned.add(one)) {
          LOG.log(Level.WARNING, one.message());
        }
      }
    }
  }
}
