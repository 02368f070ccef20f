// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.limit.InvalidRequestException.MissingDefaultException;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * A reference to the current limits, which a reload replaces as a whole.
 *
 * <p>Thread-safe; no method blocks for long. A reader sees either all of the old limits or all of
 * the new ones.
 */
public final class CurrentLimits {

  private final Requirements requirements;
  private volatile Limits limits;

  /**
   * Starts with the given limits.
   *
   * @param limits the current limits until they are replaced
   */
  public CurrentLimits(Limits limits) {
    this(Objects.requireNonNull(limits, "limits"), new Requirements());
  }

  private CurrentLimits(Limits limits, Requirements requirements) {
    this.limits = limits;
    this.requirements = requirements;
  }

  /**
   * Returns another reference that shares the {@linkplain #require requirements} of this one, also
   * those added later. It is for limits derived from these, such as with the overrides of a table.
   *
   * @return a reference that starts with the current limits
   */
  public CurrentLimits derived() {
    return new CurrentLimits(limits, requirements);
  }

  /** Returns what the current limits are. */
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
   * Returns whether limits that were read before are still current. Compares two references only:
   * cheap enough for every request that caches values derived from the limits.
   *
   * @param seen the limits that were read
   * @return false once they were replaced
   */
  @SuppressWarnings("ReferenceEquality") // the method asks for the same object
  public boolean isStill(Limits seen) {
    return limits == seen;
  }

  /**
   * Replaces all limits; the next request is decided by the new ones. Equal limits replace nothing,
   * so that values cached for the current limits stay valid.
   *
   * @param replacement the new limits
   * @throws MissingDefaultException if they lack a required limit; the current limits then stay
   */
  public void replace(Limits replacement) {
    Limits before = limits;
    if (Objects.requireNonNull(replacement, "replacement").equals(before)) {
      return;
    }
    // No requirement may be added between the check and the replacement.
    synchronized (requirements) {
      requirements.check(replacement);
      limits = replacement;
    }
  }

  /**
   * Declares that limits are required, so that a line missing in a file cannot remove a limit.
   * Checks the current limits, and all limits that replace them.
   *
   * @param more which limits are required, and by what
   * @throws MissingDefaultException if a limit that must not be missing is not configured now; then
   *     nothing is declared
   */
  public void require(Collection<Requirement> more) {
    synchronized (requirements) {
      requirements.add(more, limits);
    }
  }

  /**
   * Removes requirements that {@link #require} has declared.
   *
   * @param some the requirements that no longer apply
   */
  public void release(Collection<Requirement> some) {
    requirements.remove(some);
  }

  /**
   * Returns the requirements that limits do not meet, also those that only warn.
   *
   * @param candidate the current limits, or limits that could replace them
   * @return the requirements, in the order in which they were declared
   */
  public List<Requirement> unmet(Limits candidate) {
    return requirements.unmet(candidate);
  }

  /** The callers that ask for limits, and how often each said so. Thread-safe. */
  private static final class Requirements {

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
}
