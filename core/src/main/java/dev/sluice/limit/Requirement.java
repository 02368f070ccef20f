// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

/**
 * The statement that something asks for a limit, which should therefore have a {@linkplain
 * Limits#hasDefault default}.
 *
 * @param limit the limit's name
 * @param by what asks for it, as messages say it: {@code a rule of the filter}
 * @param onMissing what happens where the limit has no default
 */
public record Requirement(String limit, String by, MissingDefault onMissing) {

  /**
   * Returns whether limits satisfy this requirement.
   *
   * @param limits the limits
   * @return false if they do not know the limit, or have no default for it though it may have one,
   *     and do not say that it is unlimited
   */
  public boolean isMetBy(Limits limits) {
    LimitName name = limits.catalogue().find(limit);
    return name != null && (name.overridesOnly() || limits.hasDefault(name));
  }

  /**
   * Returns the error, and what to do about it, where limits do not satisfy this requirement.
   *
   * @return one line
   */
  public String message() {
    return "%s has no default, but %s asks for it; %s"
        .formatted(limit, by, MissingDefaultException.line(limit));
  }

  /** The outcome where a limit is asked for that has no {@linkplain Limits#hasDefault default}. */
  public enum MissingDefault {

    /**
     * Requests are refused, by a {@link MissingDefaultException}. Where a requirement says so, the
     * start fails too, and limits that would cause it are not taken over.
     */
    REFUSE,

    /** A warning is logged once; the limit lets everything pass. */
    WARN,

    /** The limit lets everything pass. */
    ALLOW
  }
}
