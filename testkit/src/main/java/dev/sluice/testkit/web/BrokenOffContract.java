// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.web;

import static dev.sluice.testkit.web.FilterRun.LOCAL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.testkit.web.FilterProtocol.AbortingClient;
import dev.sluice.testkit.web.FilterProtocol.AbortingClient.Exchange;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * JUnit tests over real HTTP/1.1 and HTTP/2 in which a client aborts while the application still
 * processes the request. The filter must leave the token spent until the application's result is
 * known.
 *
 * <p>To test a filter, extend this class and start a server. The application behind the filter must
 * do the following:
 *
 * <ul>
 *   <li>on {@code /check} and {@code /attack}, pass a {@link HeldRequest} to {@link
 *       HeldRequests#arrived} and process the request asynchronously. With {@code committed=N},
 *       first send the status {@code N} and a server-sent event. With {@code then=T}, block the
 *       thread of the request, if the server has one. When the test ends the request, do what
 *       {@code then} says: read the whole body ({@code read}), send an error ({@code send-error}),
 *       send a body at once ({@code flush}), or only set the status ({@code set}).
 *   <li>on {@code /other}, respond with a 200.
 * </ul>
 */
public abstract class BrokenOffContract {

  private final FilterProtocol protocol;
  private final HeldRequests held = new HeldRequests();
  private final FilterRun run = new FilterRun(setup -> start(setup, held));

  /**
   * Creates the contract, for subclasses that test a filter with one protocol.
   *
   * @param protocol the protocol with which the tests send requests
   */
  protected BrokenOffContract(FilterProtocol protocol) {
    this.protocol = protocol;
  }

  /**
   * Starts a server whose application is behind a filter. A test calls this method at most once,
   * and the contract closes the server.
   *
   * @param setup the settings of the filter
   * @param requests receives the requests that the application processes
   * @return the running server
   * @throws Exception if the server does not start
   */
  protected abstract FilteredSite start(FilterSetup setup, HeldRequests requests) throws Exception;

  private AbortingClient startWithCheck() throws Exception {
    run.start(
        Rule.on("/check", "/attack")
            .limit("FailedPerAddress", VaryBy.clientAddress())
            .countOnly(401)
            .build(),
        Rule.on("/check").limit("PerKey", VaryBy.constant("good")).countOnly(200).build());
    return protocol.client(run.site());
  }

  private long failed() {
    return run.remaining("FailedPerAddress", LOCAL);
  }

  private long good() {
    return run.remaining("PerKey", "good");
  }

  /** Sends a request to {@code /other}, so that the server has time for earlier requests. */
  private void anotherRequest() {
    assertThat(run.get("/other").statusCode()).isEqualTo(200);
  }

  @Test
  final void check_clientBreaksOff_tokenIsNotBackBeforeTheCheckEnds() throws Exception {
    try (AbortingClient client = startWithCheck()) {
      Exchange exchange = client.get("/check");
      held.next();
      held.awaitLeft();

      exchange.abort();
      anotherRequest();

      assertThat(failed()).isEqualTo(29);
      assertThat(good()).isEqualTo(1);
    }
  }

  @Test
  final void check_clientBreaksOff_passwordIsWrong_staysSpent() throws Exception {
    try (AbortingClient client = startWithCheck()) {
      Exchange exchange = client.get("/check");
      HeldRequest request = held.next();
      held.awaitLeft();

      exchange.abort();
      anotherRequest();
      request.end(401);
      anotherRequest();

      assertThat(failed()).isEqualTo(29);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"set", "send-error", "flush"})
  final void checkInItsThread_clientBreaksOff_resultOfTheCheckDecides(String then)
      throws Exception {
    try (AbortingClient client = startWithCheck()) {
      Exchange exchange = client.get("/check?then=" + then);
      HeldRequest request = held.next();

      exchange.abort();
      request.end(401);
      held.awaitLeft();

      assertThat(failed()).isEqualTo(29);
    }
  }

  @Test
  final void check_clientBreaksOffWithinItsBody_staysSpent() throws Exception {
    try (AbortingClient client = startWithCheck()) {
      Exchange exchange = client.postWithoutBody("/check?then=read");
      HeldRequest request = held.next();

      exchange.abort();
      request.end(401);
      held.awaitLeft();

      assertThat(failed()).isEqualTo(29);
      assertThat(good()).isEqualTo(1);
    }
  }

  @Test
  final void response_committedBeforeTheClientBreaksOff_decides() throws Exception {
    try (AbortingClient client = startWithCheck()) {
      Exchange exchange = client.get("/check?committed=401");
      HeldRequest request = held.next();
      held.awaitLeft();
      assertThat(exchange.status()).isEqualTo(401);

      exchange.abort();
      request.writeUntilBroken();

      await().atMost(Duration.ofMinutes(1)).until(() -> good() == 2);
      assertThat(failed()).isEqualTo(29);
    }
  }

  @Test
  final void events_whoseClientGoesAway_countAsTheStatusThatWasSent() throws Exception {
    try (AbortingClient client = startWithCheck()) {
      Exchange exchange = client.get("/check?committed=200");
      HeldRequest request = held.next();
      held.awaitLeft();

      exchange.abort();
      request.writeUntilBroken();

      await().atMost(Duration.ofMinutes(1)).until(() -> failed() == 30);
      assertThat(good()).isEqualTo(1);
    }
  }

  /**
   * The attack: a client sends 300 login attempts, and aborts each attempt while the application
   * checks the password.
   */
  @Test
  final void attempts_thatAreBrokenOff_areLimitedLikeOthers() throws Exception {
    startWithCheck().close();
    List<HeldRequest> underWay = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      try (AbortingClient attacker = protocol.client(run.site())) {
        boolean passes = failed() > 0;
        Exchange exchange = attacker.get("/attack");
        if (passes) {
          underWay.add(held.next());
          held.awaitLeft();
          exchange.abort();
          anotherRequest();
        } else {
          assertThat(exchange.status()).isEqualTo(429);
        }
      }
    }
    underWay.forEach(request -> request.end(401));

    assertThat(underWay).hasSize(30);
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
