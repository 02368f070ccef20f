// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.Limits.Requirement;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Thrown for a request that is always wrong, such as an unknown limit name, an id in a wrong
 * format, or a cost out of range. The caller must change the request; nothing was charged.
 */
public class InvalidRequestException extends IllegalArgumentException {

  private static final long serialVersionUID = 1;

  private final Field field;

  /**
   * Makes an exception.
   *
   * @param field the part of the request that is wrong
   * @param message what was found, and what was expected
   */
  public InvalidRequestException(Field field, String message) {
    super(message);
    this.field = field;
  }

  /**
   * Returns the part of the request that is wrong.
   *
   * @return the field
   */
  public Field field() {
    return field;
  }

  /** The part of a request that an exception reports as wrong. */
  public enum Field {
    /** The limit's name. */
    LIMIT,
    /** The id. */
    ID,
    /** The cost. */
    COST,
    /** The kind of operation. */
    KIND,
    /** The list of transactions in a batch. */
    TRANSACTIONS,
    /** The longest wait for tokens. */
    MAX_WAIT
  }

  /** Thrown for an id that does not match the id format of its limit. */
  public static final class InvalidIdException extends InvalidRequestException {

    private static final long serialVersionUID = 1;

    /**
     * Makes an exception.
     *
     * @param message what was found, and what was expected
     */
    public InvalidIdException(String message) {
      super(Field.ID, message);
    }
  }

  /**
   * Thrown for a limit name that the catalogue does not have. The subclass {@link
   * MissingDefaultException} is thrown for a limit without a default.
   */
  public static class UnknownLimitException extends InvalidRequestException {

    private static final long serialVersionUID = 1;

    /**
     * Makes an exception.
     *
     * @param message the unknown name, and a similar name if there is one
     */
    public UnknownLimitException(String message) {
      super(Field.LIMIT, message);
    }
  }

  /**
   * Thrown for a request whose id is not limited, because the limit has no default and the id has
   * no override. The message lists each limit without a default, and the line to add to the limit
   * file. A retry fails until the operator has added the default. Nothing was charged.
   */
  public static final class MissingDefaultException extends UnknownLimitException {

    private static final long serialVersionUID = 1;

    private final List<String> limits;

    private MissingDefaultException(List<String> limits, String message) {
      super(message);
      this.limits = limits;
    }

    /**
     * Makes an exception for a request with limits that have no default.
     *
     * @param limits the limits of the request, at least one
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

    /**
     * Makes an exception for limits whose {@linkplain CurrentLimits#require required} default is
     * missing.
     */
    static MissingDefaultException ofRequired(List<Requirement> missing, Limits limits) {
      return new MissingDefaultException(
          missing.stream().map(Requirement::limit).distinct().toList(),
          missing.stream().map(one -> one.message(limits)).collect(Collectors.joining("\n")));
    }

    /** Returns the text that tells an operator what to write in a limit file. */
    static String line(String limit) {
      return "write burst, count and period, or \"%s: {unlimited: true}\"".formatted(limit);
    }

    /**
     * Returns the names of the limits that have no default.
     *
     * @return at least one name
     */
    public List<String> limits() {
      return limits;
    }
  }
}
