// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

/**
 * Thrown if the arguments of a {@link RateLimited} call give an id that is null or malformed, or a
 * cost that is not a whole number or can never be allowed. Spring MVC and WebFlux reply with a 400,
 * like the filter.
 */
public final class UnusableIdException extends IllegalArgumentException {

  private static final long serialVersionUID = 1;

  UnusableIdException(String message) {
    super(message);
  }
}
