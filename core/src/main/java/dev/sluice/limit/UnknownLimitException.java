// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

/**
 * A limit's name that the catalogue does not have, or, as a {@link MissingDefaultException}, a
 * limit that has no default.
 */
public class UnknownLimitException extends InvalidRequestException {

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
