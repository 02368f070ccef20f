// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

import dev.sluice.Limiter;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.Rule;
import java.util.List;

/**
 * The settings of the filter under test.
 *
 * @param limiter the limiter that decides
 * @param rules the rules, in the order in which the filter must apply them
 * @param clientAddress how the filter finds the client's address
 * @param headers the family of rate limit headers
 */
public record FilterSetup(
    Limiter limiter, List<Rule> rules, ClientAddress clientAddress, HeaderProfile headers) {

  /**
   * Creates a setup.
   *
   * @param limiter the limiter that decides
   * @param rules the rules; the list is copied
   * @param clientAddress how the filter finds the client's address
   * @param headers the family of rate limit headers
   */
  public FilterSetup {
    rules = List.copyOf(rules);
  }
}
