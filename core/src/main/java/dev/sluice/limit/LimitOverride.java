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
 * Quotas for one id, which replace all default quotas of its limit.
 *
 * @param name the limit's name
 * @param id the id in canonical form, in the limit's format for override ids
 * @param quotas the rates and bursts, the longest period first
 * @param comment a note by a person, can be empty
 * @param author the person who set the override, can be empty
 * @param until the end of the override, null if it has no end. A Sluice server removes an override
 *     within a second after its end, by the server's clock. An application without a server must
 *     call {@link Limits#withoutEnded} itself to remove ended overrides
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
   * @param id the id in canonical form, in the limit's format for override ids
   * @param quotas the rates and bursts, in any order; {@link Quota#ofOneLimit} checks them
   * @param comment a note by a person, can be empty
   * @param author the person who set the override, can be empty
   * @param until the end of the override, from the epoch to the year 2262; null if it has no end
   * @throws IllegalArgumentException if the end or the quotas are invalid
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
   * Makes an override that has one quota, no author and no end.
   *
   * @param name the limit's name
   * @param id the id in canonical form, in the limit's format for override ids
   * @param quota the rate and burst
   * @param comment a note by a person, can be empty
   */
  public LimitOverride(LimitName name, String id, Quota quota, String comment) {
    this(name, id, quota, comment, "", null);
  }

  /**
   * Makes an override with one quota.
   *
   * @param name the limit's name
   * @param id the id in canonical form, in the limit's format for override ids
   * @param quota the rate and burst
   * @param comment a note by a person, can be empty
   * @param author the person who set the override, can be empty
   * @param until the end of the override, null if it has no end
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
   * Returns a copy of this override for another limit or id.
   *
   * @param newName the limit's name
   * @param newId the id in canonical form
   * @return the new override
   */
  public LimitOverride moved(LimitName newName, String newId) {
    return new LimitOverride(newName, newId, quotas, comment, author, until);
  }

  /**
   * Returns whether the override has ended.
   *
   * @param now the current time
   * @return true if the override's end has passed
   */
  public boolean isEndedAt(Instant now) {
    return until != null && !now.isBefore(until);
  }

  /**
   * Returns the quota with the longest period.
   *
   * @return the quota
   */
  public Quota quota() {
    return quotas.get(0);
  }

  /**
   * Compares this override with an existing override of the same id, which this override would
   * replace. Returns the change if this override has fewer quotas than the existing override, or a
   * quota that is {@linkplain Quota#isLowerThan lower} than the existing quota with the same
   * period. A quota with a new period counts as lower if it is lower than all existing quotas. An
   * operator may have lowered the override by mistake.
   *
   * @param present the existing override
   * @return the change; null if this override has neither a lower quota nor fewer quotas
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
   * Thrown for a change that would lower overrides without an explicit request to lower them. A
   * lower override has a lower rate, a smaller burst at the same rate, or fewer quotas. The message
   * for the operator has a line for each override. Nothing was changed.
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
   * An override that would be lowered, or would lose some of its quotas.
   *
   * @param override the new override
   * @param present the existing override
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
