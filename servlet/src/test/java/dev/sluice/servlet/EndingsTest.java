package dev.sluice.servlet;

import static dev.sluice.servlet.Limiters.remaining;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.Limiter;
import dev.sluice.servlet.Protocol.Client;
import dev.sluice.testkit.ManualTime;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every way in which a request can end while its client waits, with what three kinds of rules count
 * of it: only a 401, only a 500 or a 503, all but a success.
 */
@ParameterizedClass
@MethodSource("containersAndProtocols")
class EndingsTest {

  private static final String LOCAL = "127.0.0.1";

  private final Limiter limiter = Limiters.on(new ManualTime());
  private final Protocol protocol;
  private final WebServer web;

  EndingsTest(Container container, Protocol protocol) {
    this.protocol = protocol;
    this.web =
        container.server().servlet("/async", new AsyncPages()).servlet("/page", Pages.status());
  }

  static Stream<Arguments> containersAndProtocols() {
    return Stream.of(Container.values())
        .flatMap(
            container ->
                Stream.of(Protocol.values()).map(protocol -> Arguments.of(container, protocol)));
  }

  @AfterEach
  void stop() throws Exception {
    web.close();
  }

  @ParameterizedTest
  @CsvSource({
    // ending                              , status, of 401, of 500, all but success
    "/page                                 , 200, false, false, false",
    "/page?status=401                      , 401, true,  false, true",
    "/page?status=401&sendError=1          , 401, true,  false, true",
    "/page?status=302                      , 302, false, false, true",
    "/async?how=complete                   , 401, true,  false, true",
    "/async?how=complete&status=204        , 204, false, false, false",
    "/async?how=no-status                  , 200, false, false, false",
    "/async?how=send-error                 , 401, true,  false, true",
    "/async?how=redirect                   , 302, false, false, true",
    "/async?how=events                     , 200, false, false, false",
    "/async?how=dispatch-complete          , 401, true,  false, true",
    "/async?how=dispatch-status            , 401, true,  false, true",
    "/async?how=dispatch-throw             , 500, false, true,  true",
    "/async?how=time-out-handled           , 401, true,  false, true",
    "/async?how=time-out-handled&status=503, 503, false, true,  true",
    // Nobody knows how the work ends: all stays spent.
    "/async?how=time-out                   , 500, true,  true,  true",
    "/async?how=thread-dies                , 500, true,  true,  true",
    "/async?how=sent-then-time-out         , 401, true,  false, true",
  })
  void ending_isCountedByItsStatus(
      String path, int status, boolean of401, boolean of500, boolean allButSuccess)
      throws Exception {
    web.filter(
            RateLimitFilter.builder(limiter),
            Rule.on("/**").limit("FailedPerAddress", VaryBy.clientAddress()).countOnly(401).build(),
            Rule.on("/**").limit("PerKey", VaryBy.constant("a")).countOnly(500, 503).build(),
            Rule.on("/**").limit("PerKey", VaryBy.constant("b")).countAllButSuccess().build(),
            Rule.on("/**").limit("PerAddress", VaryBy.clientAddress()).build())
        .start();
    try (Client client = protocol.client(web.port())) {
      assertThat(client.get(path).status()).isEqualTo(status);
      // Before the client leaves, which could be another ending.
      await()
          .untilAsserted(
              () -> {
                assertThat(30 - remaining(limiter, "FailedPerAddress", LOCAL))
                    .isEqualTo(one(of401));
                assertThat(2 - remaining(limiter, "PerKey", "a")).isEqualTo(one(of500));
                assertThat(2 - remaining(limiter, "PerKey", "b")).isEqualTo(one(allButSuccess));
              });
    }
    assertThat(remaining(limiter, "PerAddress", LOCAL)).isEqualTo(2);
  }

  private static long one(boolean spent) {
    return spent ? 1 : 0;
  }
}
