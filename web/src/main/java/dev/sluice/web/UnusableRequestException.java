// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

/**
 * Thrown if a request lacks a value that a rule needs, or has the value in a form that cannot be
 * used. The client receives a 400 with this exception's message.
 */
public final class UnusableRequestException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final String detail;

  /**
   * Makes an exception.
   *
   * @param detail a sentence for the client about the missing or unusable value, without ids
   */
  public UnusableRequestException(String detail) {
    super(detail, null, false, false);
    this.detail = detail;
  }

  /**
   * Returns the message for the client.
   *
   * @return a sentence about the missing or unusable value, without ids
   */
  public String detail() {
    return detail;
  }
}
