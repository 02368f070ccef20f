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
 * @param rules the rules, in their order
 * @param clientAddress how the client's address is found
 * @param headers the family of rate limit headers
 */
public record FilterSetup(
    Limiter limiter, List<Rule> rules, ClientAddress clientAddress, HeaderProfile headers) {

  /**
   * Creates a setup.
   *
   * @param limiter the limiter that decides
   * @param rules the rules; copied
   * @param clientAddress how the client's address is found
   * @param headers the family of rate limit headers
   */
  public FilterSetup {
    rules = List.copyOf(rules);
  }
}
