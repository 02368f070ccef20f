// SPDX-License-Identifier: Apache-2.0
package dev.sluice.webflux;

import static org.awaitility.Awaitility.await;
import static org.springframework.web.reactive.function.server.RequestPredicates.all;

import dev.sluice.Limiter;
import dev.sluice.Reservation.Estimate;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.web.FilterSetup;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A rule that estimates 10 of 30 tokens, and handlers that set a true cost. */
@Tag("slow")
class EstimateTest {

  private final Limiter limiter =
      Limiter.of(new CurrentLimits(limits()), BucketStore.inMemory(new ManualTime()));
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final NettySite site = start();

  private static Limits limits() {
    Catalogue names = Catalogue.of(LimitName.builder(1001, "Tokens").build());
    return Limits.builder(names).limit("Tokens", Quota.per(30, Duration.ofHours(1))).build();
  }

  private NettySite start() {
    Estimate tokens = Estimate.mean(1, 10);
    Rule rule =
        Rule.on("/chat")
            .limit("Tokens", VaryBy.constant("a"))
            .estimate(request -> tokens.of("model"))
            .countAllBut(500)
            .build();
    return NettySite.start(
        new FilterSetup(limiter, List.of(rule), ClientAddress.direct(), HeaderProfile.IETF),
        RouterFunctions.route(all(), EstimateTest::answer));
  }

  @AfterEach
  void stop() {
    site.close();
  }

  private static Mono<ServerResponse> answer(ServerRequest request) {
    Runnable report =
        () ->
            request
                .queryParam("cost")
                .ifPresent(
                    cost -> RateLimitWebFilter.cost(request.exchange(), Long.parseLong(cost)));
    Flux<String> tokens =
        switch (request.queryParam("how").orElseThrow()) {
          case "endless" -> Flux.<String>generate(sink -> sink.next("token "));
          case "fail" -> throw new IllegalStateException("as the test wants");
          case "away" -> throw new UncheckedIOException(new ConnectException("as the test wants"));
          default -> Flux.just("token ", "token ");
        };
    return ServerResponse.ok().body(tokens.doFinally(end -> report.run()), String.class);
  }

  private HttpRequest ask(String query) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + site.port() + "/chat?" + query))
        .build();
  }

  private void awaitLeft(long left) {
    await()
        .atMost(Duration.ofMinutes(1))
        .until(() -> limiter.check("Tokens", "a", 0).remaining() == left);
  }

  @ParameterizedTest
  @CsvSource({
    "how=stream&cost=4, 26",
    "how=stream&cost=25, 5",
    "how=stream, 20",
    "how=fail, 30",
    "how=away, 30"
  })
  void trueCost_isChargedAtTheEndOfTheStream(String query, long left) throws Exception {
    var unused = client.send(ask(query), BodyHandlers.ofString());

    awaitLeft(left);
  }

  @Test
  void trueCost_isChargedWhenTheClientLeaves() throws Exception {
    HttpResponse<InputStream> response =
        client.send(ask("how=endless&cost=4"), BodyHandlers.ofInputStream());
    awaitLeft(20);

    response.body().close();

    awaitLeft(26);
  }
}
