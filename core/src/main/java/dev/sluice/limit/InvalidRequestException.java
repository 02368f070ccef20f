// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.Limits.Requirement;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A request that can never be decided as it stands: a name that is not declared, an id of a wrong
 * form, a cost out of range. The caller must change it; nothing was charged.
 */
public class InvalidRequestException extends IllegalArgumentException {

  private static final long serialVersionUID = 1;

  private final Field field;

  /**
   * Makes an exception.
   *
   * @param field the part of the request that is wrong
   * @param message what was found, what was expected
   */
  public InvalidRequestException(Field field, String message) {
    super(message);
    this.field = field;
  }

  /**
   * The part of the request that is wrong.
   *
   * @return the field
   */
  public Field field() {
    return field;
  }

  /** A part of a request. */
  public enum Field {
    /** The limit's name. */
    LIMIT,
    /** The id of what is limited. */
    ID,
    /** The cost. */
    COST,
    /** The act that was asked for. */
    KIND,
    /** The list of a batch. */
    TRANSACTIONS,
    /** How long to wait for tokens. */
    MAX_WAIT
  }

  /** An id that does not match the format of its limit's name. */
  public static final class InvalidIdException extends InvalidRequestException {

    private static final long serialVersionUID = 1;

    /**
     * Makes an exception.
     *
     * @param message what was found, what was expected
     */
    public InvalidIdException(String message) {
      super(Field.ID, message);
    }
  }

  /**
   * Thrown for a limit's name that the catalogue does not have, or, as a {@link
   * MissingDefaultException}, a limit that has no default.
   */
  public static class UnknownLimitException extends InvalidRequestException {

    private static final long serialVersionUID = 1;

    /**
     * Makes an exception.
     *
     * @param message what was found, what was perhaps meant
     */
    public UnknownLimitException(String message) {
      super(Field.LIMIT, message);
    }
  }

  /**
   * Thrown for a limit without a default, since nothing would limit the id. The message names each
   * such limit, and the line to write in the limits. It is for the operator: asking again does not
   * help, and nothing was charged.
   */
  public static final class MissingDefaultException extends UnknownLimitException {

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
}
