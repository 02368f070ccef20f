// SPDX-License-Identifier: Apache-2.0
package dev.sluice.yaml;

import java.util.List;

/**
 * Thrown if the limits in properties have mistakes. Lists every mistake. An operator must correct
 * the properties.
 */
public final class LimitPropertiesException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final transient List<String> problems;

  LimitPropertiesException(List<String> problems) {
    super(String.join("\n", problems));
    this.problems = List.copyOf(problems);
  }

  /**
   * Returns the mistakes.
   *
   * @return the mistakes, at least one, each with the name of its property: {@code
   *     sluice.limits.Logins.burst: found …}
   */
  public List<String> problems() {
    return problems;
  }
}
