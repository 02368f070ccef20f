// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Thrown where a limit is asked for that has no default, so that nothing would limit the id. The
 * message names each such limit, and the line to write in the limits. It is for the operator:
 * asking again does not help, and nothing was charged.
 */
public final class MissingDefaultException extends UnknownLimitException {

  private static final long serialVersionUID = 1;

  private final List<String> limits;

  private MissingDefaultException(List<String> limits, String message) {
    super(message);
    this.limits = limits;
  }

  /**
   * Makes an exception for a request.
   *
   * @param limits what the request asks for, at least one limit
   * @return the exception, with a line for each limit
   */
  public static MissingDefaultException of(Collection<LimitName> limits) {
    List<String> names = limits.stream().map(LimitName::name).distinct().toList();
    return new MissingDefaultException(
        names,
        names.stream()
            .map(name -> "%s has no default; %s".formatted(name, line(name)))
            .collect(Collectors.joining("\n")));
  }

  /** Makes an exception for what {@linkplain CurrentLimits#require limits must have}. */
  static MissingDefaultException ofRequired(List<Requirement> missing) {
    return new MissingDefaultException(
        missing.stream().map(Requirement::limit).distinct().toList(),
        missing.stream().map(Requirement::message).collect(Collectors.joining("\n")));
  }

  /** What to write for a limit. */
  static String line(String limit) {
    return "write burst, count and period, or \"%s: {unlimited: true}\"".formatted(limit);
  }

  /**
   * Returns the names of the limits that have no default.
   *
   * @return at least one
   */
  public List<String> limits() {
    return limits;
  }
}
