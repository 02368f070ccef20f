// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

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
}
