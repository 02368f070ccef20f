// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.gcra.Quota;
import dev.sluice.internal.text.GoDuration;
import dev.sluice.internal.text.SafeText;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Quotas for one id, in place of all those that its limit has by default.
 *
 * @param name the limit's name
 * @param id the id as the name's override form has it, canonical
 * @param quotas how much may pass, the longest period first
 * @param comment what a person noted beside it, may be empty
 * @param author who set it, may be empty
 * @param until when it ends, null if it does not end. A server ends it by its own clock, within a
 *     second; without a server, {@link Limits#withoutEnded} must be called
 */
public record LimitOverride(
    LimitName name,
    String id,
    List<Quota> quotas,
    String comment,
    String author,
    @Nullable Instant until) {

  /**
   * Makes an override.
   *
   * @param name the limit's name
   * @param id the id as the name's override form has it, canonical
   * @param quotas how much may pass, in any order, as {@link Quota#ofOneLimit} takes them
   * @param comment a note by a person, may be empty
   * @param author who set it, may be empty
   * @param until when it ends, from the epoch to the year 2262; null if it does not end
   * @throws IllegalArgumentException for an end out of its range, and for quotas that no limit can
   *     have together
   */
  public LimitOverride {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(id, "id");
    quotas = Quota.ofOneLimit(quotas);
    Objects.requireNonNull(comment, "comment");
    Objects.requireNonNull(author, "author");
    if (until != null) {
      Penalty.requireInRange(until);
    }
  }

  /**
   * Makes an override with one quota, without an author and without an end.
   *
   * @param name the limit's name
   * @param id the id as the name's override form has it, canonical
   * @param quota the rate and burst
   * @param comment a note by a person, may be empty
   */
  public LimitOverride(LimitName name, String id, Quota quota, String comment) {
    this(name, id, quota, comment, "", null);
  }

  /**
   * Makes an override with one quota.
   *
   * @param name the limit's name
   * @param id the id as the name's override form has it, canonical
   * @param quota the rate and burst
   * @param comment a note by a person, may be empty
   * @param author who set it, may be empty
   * @param until when it ends, null if it does not end
   */
  public LimitOverride(
      LimitName name,
      String id,
      Quota quota,
      String comment,
      String author,
      @Nullable Instant until) {
    this(name, id, List.of(Objects.requireNonNull(quota, "quota")), comment, author, until);
  }

  /**
   * Returns the same override for another limit or id.
   *
   * @param newName the limit's name
   * @param newId the id, canonical
   * @return an override that differs only in these
   */
  public LimitOverride moved(LimitName newName, String newId) {
    return new LimitOverride(newName, newId, quotas, comment, author, until);
  }

  /**
   * Returns whether the override has ended.
   *
   * @param now the current time
   * @return true from its end on
   */
  public boolean isEndedAt(Instant now) {
    return until != null && !now.isBefore(until);
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
   * Returns what nobody may have meant if this override replaced another one of the same id:
   * {@linkplain Quota#isLowerThan a lower} quota with the same period, a quota lower than all the
   * others, or fewer quotas.
   *
   * @param present the override that would be replaced
   * @return the change; null if it is neither lower nor has fewer quotas
   */
  public @Nullable Lowered lowers(LimitOverride present) {
    return quotas.size() < present.quotas.size()
            || quotas.stream().anyMatch(quota -> isLower(quota, present.quotas))
        ? new Lowered(this, present)
        : null;
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
   * One override that would be lowered, or lose some of its quotas.
   *
   * @param override what it should become
   * @param present the override now
   */
  public record Lowered(LimitOverride override, LimitOverride present) {

    @Override
    public String toString() {
      if (override.quotas().size() < present.quotas().size()) {
        return "%s for %s has several quotas (%s), and the change has fewer: %s"
            .formatted(
                override.name(), SafeText.quote(override.id()), words(present), words(override));
      }
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
