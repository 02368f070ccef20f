// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

/**
 * Thrown when the arguments of a {@link RateLimited} call give an id that is null or malformed, or
 * a cost that can never pass or is not a whole number. Spring MVC and WebFlux answer it as the
 * filter does, with a 400.
 */
public final class UnusableIdException extends IllegalArgumentException {

  private static final long serialVersionUID = 1;

  UnusableIdException(String message) {
    super(message);
  }
}
