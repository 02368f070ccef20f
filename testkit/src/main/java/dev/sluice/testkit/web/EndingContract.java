// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

import static dev.sluice.testkit.web.FilterRun.LOCAL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.testkit.web.FilterProtocol.AbortingClient;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * JUnit tests over real HTTP/1.1 and HTTP/2 of rules that count only some outcomes. The tests cover
 * all ways in which a request can end while the client waits.
 *
 * <p>To test a filter, extend this class and start a server. The application behind the filter must
 * do the following:
 *
 * <ul>
 *   <li>on {@code /end?how=H}, handle the request asynchronously, and end it as {@code H} says. The
 *       status of the response is the query parameter {@code status}, by default 401. {@code
 *       complete} ends the request with the status, {@code no-status} sets no status, and {@code
 *       redirect} redirects with a 302. {@code events} sends three server-sent events with a 200,
 *       and {@code throw} throws an exception. {@code time-out} lets the request time out in the
 *       server or the framework. {@code time-out-answered} lets the request time out, and the
 *       framework responds with the status. {@code sent-then-time-out} sends the status and then
 *       lets the request time out.
 *   <li>on {@code /other}, respond with a 200.
 * </ul>
 */
public abstract class EndingContract {

  private final FilterProtocol protocol;
  private final FilterRun run = new FilterRun(this::start);

  /**
   * Creates the contract, for subclasses that test a filter with one protocol.
   *
   * @param protocol the protocol with which the tests send requests
   */
  protected EndingContract(FilterProtocol protocol) {
    this.protocol = protocol;
  }

  /**
   * Starts a server whose application is behind a filter. A test calls this method at most once,
   * and the contract closes the server.
   *
   * @param setup the settings of the filter
   * @return the running server
   * @throws Exception if the server does not start
   */
  protected abstract FilteredSite start(FilterSetup setup) throws Exception;

  /**
   * Sends a request, and asserts which of three rules count it: a rule for 401, a rule for 500 and
   * 503, and a rule for all outcomes except success. A subclass can call this method for ways to
   * end a request that exist only in one framework.
   *
   * @param path the path, relative to {@link FilteredSite#prefix}
   * @param status the status that the client receives
   * @param of401 whether the token of a rule that counts 401 stays spent
   * @param of500 whether the token of a rule that counts 500 and 503 stays spent
   * @param allButSuccess whether the token of a rule that counts all outcomes except success stays
   *     spent
   * @throws Exception if the server cannot be started or called
   */
  protected final void assertEnding(
      String path, int status, boolean of401, boolean of500, boolean allButSuccess)
      throws Exception {
    run.start(
        Rule.on("/**").limit("FailedPerAddress", VaryBy.clientAddress()).countOnly(401).build(),
        Rule.on("/**").limit("PerKey", VaryBy.constant("a")).countOnly(500, 503).build(),
        Rule.on("/**").limit("PerKey", VaryBy.constant("b")).countAllButSuccess().build(),
        Rule.on("/**").limit("PerAddress", VaryBy.clientAddress()).build());
    try (AbortingClient client = protocol.client(run.site())) {
      assertThat(client.get(path).status()).isEqualTo(status);
      // The assertions run before the client closes the connection, since closing could end the
      // request in another way.
      await()
          .atMost(Duration.ofMinutes(1))
          .untilAsserted(
              () -> {
                assertThat(30 - run.remaining("FailedPerAddress", LOCAL)).isEqualTo(one(of401));
                assertThat(2 - run.remaining("PerKey", "a")).isEqualTo(one(of500));
                assertThat(2 - run.remaining("PerKey", "b")).isEqualTo(one(allButSuccess));
              });
    }
    assertThat(run.remaining("PerAddress", LOCAL)).isEqualTo(2);
  }

  private static long one(boolean spent) {
    return spent ? 1 : 0;
  }

  @ParameterizedTest
  @CsvSource({
    // way of ending                     , status, of 401, of 500, all but success
    "/other                              , 200, false, false, false",
    "/end?how=complete                   , 401, true,  false, true",
    "/end?how=complete&status=204        , 204, false, false, false",
    "/end?how=no-status                  , 200, false, false, false",
    "/end?how=redirect                   , 302, false, false, true",
    "/end?how=events                     , 200, false, false, false",
    "/end?how=throw                      , 500, false, true,  true",
    // The application's result is unknown, so all tokens stay spent.
    "/end?how=time-out                   , 500, true,  true,  true",
    "/end?how=time-out-answered&status=503, 503, true,  true,  true",
    "/end?how=sent-then-time-out         , 401, true,  false, true",
  })
  final void ending_isCountedByItsStatus(
      String path, int status, boolean of401, boolean of500, boolean allButSuccess)
      throws Exception {
    assertEnding(path, status, of401, of500, allButSuccess);
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
