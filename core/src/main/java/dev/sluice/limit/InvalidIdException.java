// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

/** An id that does not match the format of its limit's name. */
public final class InvalidIdException extends InvalidRequestException {

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
