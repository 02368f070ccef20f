package dev.sluice.servlet;

import static dev.sluice.servlet.Limiters.remaining;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.Limiter;
import dev.sluice.servlet.HeldPages.Held;
import dev.sluice.servlet.Protocol.Client;
import dev.sluice.servlet.Protocol.Exchange;
import dev.sluice.testkit.ManualTime;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import jakarta.servlet.Filter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Clients that break off while the application still works on their requests: the token stays
 * spent, as nobody knows yet how the work ends.
 */
@ParameterizedClass
@MethodSource("containersAndProtocols")
class BrokenOffTest {

  private static final String LOCAL = "127.0.0.1";

  private final Limiter limiter = Limiters.on(new ManualTime());
  private final HeldPages pages = new HeldPages();
  private final Protocol protocol;
  private final WebServer web;
  private final Semaphore returned = new Semaphore(0);
  private Client client;

  BrokenOffTest(Container container, Protocol protocol) {
    this.protocol = protocol;
    this.web =
        container
            .server()
            .servlet("/check", pages)
            .servlet("/attack", pages)
            .servlet("/other", Pages.status());
  }

  static Stream<Arguments> containersAndProtocols() {
    return Stream.of(Container.values())
        .flatMap(
            container ->
                Stream.of(Protocol.values()).map(protocol -> Arguments.of(container, protocol)));
  }

  @BeforeEach
  void start() throws Exception {
    Filter outermost =
        (request, response, chain) -> {
          try {
            chain.doFilter(request, response);
          } finally {
            returned.release();
          }
        };
    web.filter(outermost)
        .filter(
            RateLimitFilter.builder(limiter),
            Rule.on("/check", "/attack")
                .limit("FailedPerAddress", VaryBy.clientAddress())
                .countOnly(401)
                .build(),
            Rule.on("/check").limit("PerKey", VaryBy.constant("good")).countOnly(200).build())
        .start();
    client = protocol.client(web.port());
  }

  @AfterEach
  void stop() throws Exception {
    client.close();
    web.close();
  }

  private long failed() {
    return remaining(limiter, "FailedPerAddress", LOCAL);
  }

  private long good() {
    return remaining(limiter, "PerKey", "good");
  }

  /** Gives the container time to see what was sent before. */
  private void anotherRequest() {
    assertThat(web.get("/other").statusCode()).isEqualTo(200);
  }

  /** Waits until the filter has let a request out. */
  private void awaitReturn() throws InterruptedException {
    assertThat(returned.tryAcquire(10, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void asynchronousCheck_clientBreaksOff_tokenIsNotBackBeforeTheCheckEnds() throws Exception {
    Exchange exchange = client.get("/check?async=1");
    var unused = pages.next();
    awaitReturn();

    exchange.abort();
    anotherRequest();

    assertThat(failed()).isEqualTo(29);
    assertThat(good()).isEqualTo(1);
  }

  @Test
  void asynchronousCheck_clientBreaksOff_passwordIsWrong_staysSpent() throws Exception {
    Exchange exchange = client.get("/check?async=1");
    Held held = pages.next();
    awaitReturn();

    exchange.abort();
    anotherRequest();
    held.complete(401);
    anotherRequest();

    assertThat(failed()).isEqualTo(29);
  }

  @Test
  void response_committedBeforeTheClientBreaksOff_decides() throws Exception {
    Exchange exchange = client.get("/check?async=1&committed=401");
    Held held = pages.next();
    assertThat(exchange.status()).isEqualTo(401);

    exchange.abort();
    held.writeUntilBroken();

    await().until(() -> good() == 2);
    assertThat(failed()).isEqualTo(29);
  }

  @Test
  void events_whoseClientGoesAway_countAsTheStatusThatWasSent() throws Exception {
    Exchange exchange = client.get("/check?async=1&committed=200");
    Held held = pages.next();

    exchange.abort();
    held.writeUntilBroken();

    await().until(() -> failed() == 30);
    assertThat(good()).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"set", "send-error", "flush"})
  void synchronousCheck_clientBreaksOff_resultOfTheCheckDecides(String then) throws Exception {
    Exchange exchange = client.get("/check?then=" + then);
    Held held = pages.next();

    exchange.abort();
    held.release();
    awaitReturn();

    assertThat(failed()).isEqualTo(29);
  }

  @Test
  void synchronousCheck_clientBreaksOffWithinItsBody_staysSpent() throws Exception {
    Exchange exchange = client.postWithoutBody("/check?then=read");
    Held held = pages.next();

    exchange.abort();
    held.release();
    awaitReturn();

    assertThat(failed()).isEqualTo(29);
    assertThat(good()).isEqualTo(1);
  }

  /** The attack: 300 attempts, each broken off while its password is checked. */
  @Test
  void attempts_thatAreBrokenOff_areLimitedLikeOthers() throws Exception {
    List<Held> underWay = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      try (Client attacker = protocol.client(web.port())) {
        boolean passes = failed() > 0;
        Exchange exchange = attacker.get("/attack?async=1");
        if (passes) {
          underWay.add(pages.next());
          awaitReturn();
          exchange.abort();
          anotherRequest();
        } else {
          assertThat(exchange.status()).isEqualTo(429);
        }
      }
    }
    underWay.forEach(held -> held.complete(401));

    assertThat(underWay).hasSize(30);
  }
}
