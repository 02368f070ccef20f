// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

/**
 * Thrown when a request lacks what a rule needs, or has it in a form that cannot be used. The
 * client gets a 400; the message is written for it.
 */
public final class UnusableRequestException extends RuntimeException {

  private static final long serialVersionUID = 1;

  private final String detail;

  /**
   * Makes an exception.
   *
   * @param detail what is missing or unusable: a sentence for the client, without ids
   */
  public UnusableRequestException(String detail) {
    super(detail, null, false, false);
    this.detail = detail;
  }

  /**
   * Returns what is missing or unusable.
   *
   * @return a sentence for the client, without ids
   */
  public String detail() {
    return detail;
  }
}
