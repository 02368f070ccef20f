// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * Quotas for one id, in place of all those that its limit has by default.
 *
 * @param name the limit's name
 * @param id the id as the name's override form has it, canonical
 * @param quotas how much may pass, the longest period first
 * @param comment what a person noted beside it, may be empty
 */
public record LimitOverride(LimitName name, String id, List<Quota> quotas, String comment) {

  /**
   * Makes an override.
   *
   * @param name the limit's name
   * @param id the id as the name's override form has it, canonical
   * @param quotas how much may pass, in any order, as {@link Quota#ofOneLimit} takes them
   * @param comment a note by a person, may be empty
   */
  public LimitOverride {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(id, "id");
    quotas = Quota.ofOneLimit(quotas);
    Objects.requireNonNull(comment, "comment");
  }

  /**
   * Makes an override with one quota.
   *
   * @param name the limit's name
   * @param id the id as the name's override form has it, canonical
   * @param quota how much may pass
   * @param comment a note by a person, may be empty
   */
  public LimitOverride(LimitName name, String id, Quota quota, String comment) {
    this(name, id, List.of(Objects.requireNonNull(quota, "quota")), comment);
  }

  /**
   * Returns the quota with the longest period.
   *
   * @return the only quota, or the first of several
   */
  public Quota quota() {
    return quotas.get(0);
  }

  /**
   * Returns whether this override allows less than another one of the same id: {@linkplain
   * Quota#isLowerThan a lower} quota with the same period, or a lower one than all the others.
   *
   * @param present the override to compare with
   * @return true if it is lower
   */
  public boolean isLowerThan(LimitOverride present) {
    return quotas.stream().anyMatch(quota -> isLower(quota, present.quotas));
  }

  private static boolean isLower(Quota quota, List<Quota> present) {
    return present.stream()
        .filter(one -> one.period().equals(quota.period()))
        .findFirst()
        .map(quota::isLowerThan)
        .orElseGet(() -> present.stream().allMatch(quota::isLowerThan));
  }

  /**
   * Thrown when a change would lower overrides that nobody asked to lower: to a lower rate, or to a
   * smaller burst at the same rate. For the operator, with a line for each override. Nothing was
   * changed.
   */
  public static final class LoweredException extends IllegalArgumentException {

    private static final long serialVersionUID = 1;

    /**
     * Makes the exception.
     *
     * @param lowered the overrides that would be lowered, at least one
     */
    public LoweredException(List<Lowered> lowered) {
      super(lowered.stream().map(Lowered::toString).collect(Collectors.joining("\n")));
    }
  }

  /**
   * One override that would be lowered.
   *
   * @param override what it should become
   * @param present the override now
   */
  public record Lowered(LimitOverride override, LimitOverride present) {

    @Override
    public String toString() {
      return "%s for %s would be lowered from %s to %s"
          .formatted(
              override.name(), SafeText.quote(override.id()), words(present), words(override));
    }

    private static String words(LimitOverride override) {
      return override.quotas().stream()
          .map(
              quota ->
                  "burst %s, %s per %s"
                      .formatted(
                          quota.burst(), quota.count(), GoDuration.shortened(quota.period())))
          .collect(Collectors.joining(" and "));
    }
  }
}
