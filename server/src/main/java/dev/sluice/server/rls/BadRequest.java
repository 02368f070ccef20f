// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

/** Thrown for a request that its sender must change. */
final class BadRequest extends RuntimeException {

  private static final long serialVersionUID = 1;

  /**
   * Makes an exception.
   *
   * @param message which field, what was found and what was expected
   */
  BadRequest(String message) {
    super(message, null, false, false); // no stack trace: clients cause these
  }
}
