// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

import org.junit.jupiter.api.AfterEach;

/**
 * The contract of every filter that applies the rules of {@code sluice-web}, as JUnit tests over
 * real HTTP with a manual clock.
 *
 * <p>To test a filter, extend this class and start a server. The application behind the filter must
 * do the following on every path:
 *
 * <ul>
 *   <li>respond with the body {@code page} and with the status in the query parameter {@code
 *       status}, by default 200;
 *   <li>also accept {@code status} from a form in the body, which the filter must not have read;
 *   <li>before the filter runs, authenticate the user whose name is in the header {@code
 *       X-Test-User};
 *   <li>on the path {@code /crash}, throw an exception instead of responding.
 * </ul>
 */
public abstract class FilterContract
    implements RequestRules,
        IdRules,
        ClientAddressRules,
        OutcomeRules,
        TrialRules,
        StoreFailureRules {

  private final FilterRun run = new FilterRun(this::start);

  /** Creates the contract, for subclasses that test a filter. */
  protected FilterContract() {}

  /**
   * Starts a server whose application is behind a filter. A test calls this method at most once,
   * and the contract closes the server.
   *
   * @param setup the settings of the filter
   * @return the running server
   * @throws Exception if the server does not start
   */
  protected abstract FilteredSite start(FilterSetup setup) throws Exception;

  @Override
  public final FilterRun run() {
    return run;
  }

  /**
   * Stops the server of a test.
   *
   * @throws Exception if the server does not stop
   */
  @AfterEach
  protected final void closeSite() throws Exception {
    run.close();
  }
}
