// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import java.util.Collection;
import java.util.List;
import java.util.Objects;

/**
 * The limits that hold now: one reference, replaced as a whole by a reload.
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
   * @param limits the limits that hold until they are replaced
   */
  public CurrentLimits(Limits limits) {
    this(Objects.requireNonNull(limits, "limits"), new Requirements());
  }

  private CurrentLimits(Limits limits, Requirements requirements) {
    this.limits = limits;
    this.requirements = requirements;
  }

  /**
   * Returns a reference of its own that has the same {@linkplain #require requirements}, also those
   * that are added later. It is for limits that are made from these, such as those with the
   * overrides of a table.
   *
   * @return a reference that starts with the limits that hold now
   */
  public CurrentLimits derived() {
    return new CurrentLimits(limits, requirements);
  }

  /**
   * The limits that hold now.
   *
   * @return the limits
   */
  public Limits get() {
    return limits;
  }

  /**
   * Whether limits that were read before still hold. Compares no more than two references: cheap
   * enough for every request that keeps something of the limits.
   *
   * @param seen the limits that were read
   * @return false once they were replaced
   */
  @SuppressWarnings("ReferenceEquality") // as is the point of it
  public boolean isStill(Limits seen) {
    return limits == seen;
  }

  /**
   * Replaces all limits; the next request is decided by the new ones. Equal limits replace nothing,
   * so that whatever is kept for the present ones stays.
   *
   * @param replacement the limits that hold from now on
   * @throws MissingDefaultException if the limits lack what must not be missing; those before stay
   */
  public void replace(Limits replacement) {
    Limits before = limits;
    if (replacement.equals(before)) {
      return;
    }
    synchronized (requirements) { // none may be declared between the check and the replacement
      requirements.check(replacement);
      limits = replacement;
    }
  }

  /**
   * Declares what asks for limits, so that none of them is open because somebody forgot a line:
   * checks the limits that hold now, and all that replace them.
   *
   * @param more what asks for which limit
   * @throws MissingDefaultException if one that must not be missing is not configured now; then
   *     nothing is declared
   */
  public void require(Collection<Requirement> more) {
    synchronized (requirements) {
      requirements.add(more, limits);
    }
  }

  /**
   * Takes back what {@link #require} has declared.
   *
   * @param some what no longer asks for a limit
   */
  public void release(Collection<Requirement> some) {
    requirements.remove(some);
  }

  /**
   * Returns the requirements that limits do not meet, whatever should happen then.
   *
   * @param candidate the limits that hold, or others that could replace them
   * @return the requirements, in the order in which they were declared
   */
  public List<Requirement> unmet(Limits candidate) {
    return requirements.unmet(candidate);
  }
}
