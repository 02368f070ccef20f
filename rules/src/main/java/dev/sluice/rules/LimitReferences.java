// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.LimitOverride;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.yaml.internal.Node;
import dev.sluice.yaml.internal.Problems;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Looks up the limits that a file's rules name; each must have a default. Not thread-safe. */
final class LimitReferences {

  private final Limits limits;
  private final boolean known;
  private final MissingDefault onMissing;
  private final Set<String> named;
  private final Problems problems;

  /** The override with the smallest burst, if any, for each limit that was looked up. */
  private final Map<LimitName, Optional<LimitOverride>> smallest = new HashMap<>();

  /**
   * Makes an object that looks up the limits that one file refers to.
   *
   * @param limits the limits that were loaded together with the file
   * @param known whether {@code limits} is complete; if not, a missing limit is not reported
   * @param onMissing what happens if a rule names a limit without a default
   * @param named receives the name of each limit that was found
   * @param problems receives the mistakes
   */
  LimitReferences(
      Limits limits,
      boolean known,
      MissingDefault onMissing,
      Set<String> named,
      Problems problems) {
    this.limits = limits;
    this.known = known;
    this.onMissing = onMissing;
    this.named = named;
    this.problems = problems;
  }

  /** Returns the limit with the given name; null after a mistake. */
  @Nullable LimitName find(Node node, String text) {
    Catalogue catalogue = limits.catalogue();
    LimitName name = catalogue.find(text);
    if (!known) {
      return name;
    }
    if (name == null) {
      List<String> names = limits.configured().stream().map(LimitName::name).toList();
      problems.wrong(node, "the name of a limit" + Suggestion.didYouMean(text, names));
      return null;
    }
    named.add(name.name());
    if (!name.overridesOnly() && !limits.hasDefault(name)) {
      tellMissing(node, name);
    }
    return name;
  }

  private void tellMissing(Node node, LimitName name) {
    String message =
        "found %1$s, which has no default; write burst, count and period, or \"%1$s: {unlimited: true}\""
            .formatted(name);
    switch (onMissing) {
      case REFUSE -> problems.mistake(node, message);
      case WARN -> problems.warning(node, message);
      case ALLOW -> {
        // A missing default is allowed here; a metric counts the limits without a default.
      }
    }
  }

  /**
   * Requires that the limit declares a debt. If only the rules declared the debt, a process without
   * these rules would forgive the debt.
   *
   * @param found the text of the rule that needs a debt, for the message
   * @param otherwise an alternative that the message suggests if the limit cannot have a debt
   */
  void requireDebt(Node node, LimitName name, String found, String otherwise) {
    if (!known || limits.debtOf(name) > 0) {
      return;
    }
    if (limits.defaultFor(name) != null) {
      problems.mistake(
          node,
          "found %s, but the limit %s has no debt; add the line \"debt: %s\" below %s in the limit file (the largest debt of a bucket in bursts, 1 to %s)"
              .formatted(found, name, Limits.DEEPEST_DEBT, name, Limits.DEEPEST_DEBT));
    } else if (name.overridesOnly()) {
      problems.mistake(
          node,
          "found %s, expected %s: %s has overrides only, and only a default can declare a debt"
              .formatted(found, otherwise, name));
    }
  }

  void requireWithinBurst(Node node, long cost, LimitName name) {
    long burst = Quota.leastBurst(limits.defaultsFor(name));
    if (cost > burst) {
      problems.wrong(
          node,
          "a cost of at most %s, the burst of %s: a higher cost would always be denied"
              .formatted(burst, name));
      return;
    }
    smallest
        .computeIfAbsent(name, this::smallestOverride)
        .filter(override -> cost > Quota.leastBurst(override.quotas()))
        .ifPresent(override -> tellOfOverride(node, cost, override));
  }

  private Optional<LimitOverride> smallestOverride(LimitName name) {
    return limits.overridesOf(name).stream()
        .min(
            Comparator.comparingLong((LimitOverride one) -> Quota.leastBurst(one.quotas()))
                .thenComparing(LimitOverride::id));
  }

  private void tellOfOverride(Node node, long cost, LimitOverride override) {
    problems.warning(
        node,
        "found a cost of %s, but the override of %s for the id %s has a burst of %s: every request with that id is denied; lower the cost, or raise the burst"
            .formatted(
                cost,
                override.name(),
                SafeText.quote(override.id()),
                Quota.leastBurst(override.quotas())));
  }
}
