// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

/**
 * The statement that something asks for a limit, which should therefore be {@linkplain
 * Limits#isConfigured configured}.
 *
 * @param limit the limit's name
 * @param by what asks for it, as messages say it: {@code a rule of the filter}
 * @param onMissing what happens where the limit is not configured
 */
public record Requirement(String limit, String by, MissingDefault onMissing) {

  /**
   * Returns whether limits satisfy this requirement.
   *
   * @param limits the limits
   * @return false if they do not know the limit, or have neither a default nor an override for it
   *     and do not say that it is unlimited
   */
  public boolean isMetBy(Limits limits) {
    LimitName name = limits.catalogue().find(limit);
    return name != null && (name.overridesOnly() || limits.isConfigured(name));
  }

  /**
   * Returns the error, and what to do about it, where limits do not satisfy this requirement.
   *
   * @return one line
   */
  public String message() {
    return "%s has no default, but %s asks for it and would not be limited;".formatted(limit, by)
        + " write burst, count and period, or unlimited: true";
  }

  /** The outcome where a limit is named that is not {@linkplain Limits#isConfigured configured}. */
  public enum MissingDefault {

    /** The start fails, and limits that would cause it are not taken over. */
    REFUSE,

    /** A warning is logged; the limit lets everything pass. */
    WARN,

    /** The limit lets everything pass. */
    ALLOW
  }
}
