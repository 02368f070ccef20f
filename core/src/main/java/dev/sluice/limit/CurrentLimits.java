// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.limit.InvalidRequestException.MissingDefaultException;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;

/**
 * A reference to the current limits, which a reload replaces as a whole.
 *
 * <p>Thread-safe; no method blocks for long. A reader sees either all old limits or all new limits.
 */
public final class CurrentLimits {

  private final Requirements requirements;
  private volatile Limits limits;

  /**
   * Creates a reference to the given limits.
   *
   * @param limits the limits to start with, until they are replaced
   */
  public CurrentLimits(Limits limits) {
    this(Objects.requireNonNull(limits, "limits"), new Requirements());
  }

  private CurrentLimits(Limits limits, Requirements requirements) {
    this.limits = limits;
    this.requirements = requirements;
  }

  /**
   * Returns a second reference, which starts with the same limits. The second reference and this
   * reference share their {@linkplain #require requirements} and {@linkplain #addCheck checks},
   * including those that are added later to either reference. A second reference is useful for
   * derived limits, for example with the overrides of a database table.
   *
   * @return a reference to the current limits
   */
  public CurrentLimits derived() {
    return new CurrentLimits(limits, requirements);
  }

  /** Returns a description of the current limits. */
  @Override
  public String toString() {
    return limits.toString();
  }

  /**
   * Returns the current limits.
   *
   * @return the limits
   */
  public Limits get() {
    return limits;
  }

  /**
   * Returns whether limits that were read earlier are still current. The check only compares two
   * references, so callers can make it for every request.
   *
   * @param seen the limits that were read
   * @return false if the limits have been replaced
   */
  @SuppressWarnings("ReferenceEquality") // only the same object counts as current
  public boolean isStill(Limits seen) {
    return limits == seen;
  }

  /**
   * Replaces all limits; the next request uses the new limits. If the new limits are equal to the
   * current ones, nothing is replaced, so that values cached for the current limits stay valid.
   *
   * @param replacement the new limits
   * @throws MissingDefaultException if the new limits lack a required default; nothing changes then
   * @throws IllegalArgumentException if a {@linkplain #addCheck check} finds a mistake in the new
   *     limits; nothing changes then
   */
  public void replace(Limits replacement) {
    Limits before = limits;
    if (Objects.requireNonNull(replacement, "replacement").equals(before)) {
      return;
    }
    // The lock keeps other threads from adding a requirement between the check and the replacement.
    synchronized (requirements) {
      requirements.check(replacement);
      limits = replacement;
    }
  }

  /**
   * Adds requirements: limits that must have a default. The current limits, and all limits that
   * replace them, are checked against the requirements. A required limit can therefore not
   * disappear because its line is missing from a file.
   *
   * @param more the limits that must have a default, each with the part of the configuration that
   *     requires the default
   * @throws MissingDefaultException if the current limits lack a required default, and the
   *     requirement's policy is {@link MissingDefault#REFUSE}; no requirement is added then
   */
  public void require(Collection<Requirement> more) {
    synchronized (requirements) {
      requirements.add(more, limits);
    }
  }

  /**
   * Removes requirements that {@link #require} has added.
   *
   * @param some the requirements
   */
  public void release(Collection<Requirement> some) {
    requirements.remove(some);
  }

  /**
   * Adds a check, such as whether the rules of a filter still fit the limits. Limits in which a
   * check finds a mistake cannot replace the current limits.
   *
   * @param check returns a message for each mistake in the given limits; must not call this object
   * @throws IllegalArgumentException if the check finds a mistake in the current limits; the check
   *     is not added then
   */
  public void addCheck(Function<Limits, List<String>> check) {
    synchronized (requirements) {
      Requirements.refuse(check.apply(limits));
      requirements.checks.add(check);
    }
  }

  /**
   * Removes a check that {@link #addCheck} has added.
   *
   * @param check the same object as at {@link #addCheck}
   */
  public void removeCheck(Function<Limits, List<String>> check) {
    synchronized (requirements) {
      requirements.checks.remove(check);
    }
  }

  /**
   * Returns the mistakes that the {@linkplain #addCheck checks} find in the given limits.
   *
   * @param candidate limits that could replace the current limits
   * @return a message for each mistake
   */
  public List<String> faults(Limits candidate) {
    return requirements.faults(candidate);
  }

  /**
   * Returns the requirements that the given limits do not satisfy, including warnings.
   *
   * @param candidate the current limits, or limits that could replace them
   * @return the requirements, in the order in which they were added
   */
  public List<Requirement> unmet(Limits candidate) {
    return requirements.unmet(candidate);
  }

  /** The required defaults, how often each requirement was added, and the checks. Thread-safe. */
  private static final class Requirements {

    private static final Logger LOG = System.getLogger(CurrentLimits.class.getName());

    private final Map<Requirement, Integer> all = new LinkedHashMap<>();
    private final Set<Requirement> warned = new HashSet<>();
    private final List<Function<Limits, List<String>>> checks = new ArrayList<>();

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
      refuse(faults(limits));
      warn(limits);
    }

    synchronized List<String> faults(Limits limits) {
      return checks.stream().flatMap(check -> check.apply(limits).stream()).toList();
    }

    private static void refuse(List<String> faults) {
      if (!faults.isEmpty()) {
        throw new IllegalArgumentException(String.join("\n", faults));
      }
    }

    private static void refuse(Collection<Requirement> some, Limits limits) {
      List<Requirement> missing =
          some.stream()
              .filter(one -> one.onMissing() == MissingDefault.REFUSE && !one.isMetBy(limits))
              .toList();
      if (!missing.isEmpty()) {
        throw MissingDefaultException.ofRequired(missing, limits);
      }
    }

    /** Logs each unmet requirement once; logs it again if it was met and is unmet again. */
    private void warn(Limits limits) {
      for (Requirement one : all.keySet()) {
        if (one.onMissing() == MissingDefault.WARN) {
          if (one.isMetBy(limits)) {
            warned.remove(one);
          } else if (warned.add(one)) {
            LOG.log(Level.WARNING, one.message(limits));
          }
        }
      }
    }
  }
}
