// SPDX-License-Identifier: Apache-2.0
package dev.sluice.webflux;

import static org.springframework.web.reactive.function.server.RequestPredicates.all;
import static org.springframework.web.reactive.function.server.RequestPredicates.path;

import dev.sluice.testkit.web.EndingContract;
import dev.sluice.testkit.web.FilterProtocol;
import dev.sluice.testkit.web.FilterSetup;
import dev.sluice.testkit.web.FilteredSite;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.core.ParameterizedTypeReference;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.codec.ServerSentEvent;
import org.springframework.util.MultiValueMap;
import org.springframework.web.reactive.function.client.WebClientRequestException;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import org.springframework.web.server.ResponseStatusException;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The contract of endings, and the endings that only WebFlux knows. */
@Tag("slow")
@ParameterizedClass
@EnumSource(FilterProtocol.class)
class EndingsTest extends EndingContract {

  private static final Duration SOON = Duration.ofMillis(100);

  /** A time-out that ends only after the status was sent, even on a busy machine. */
  private static final Duration LATER = Duration.ofSeconds(1);

  EndingsTest(FilterProtocol protocol) {
    super(protocol);
  }

  @Override
  protected FilteredSite start(FilterSetup setup) {
    return NettySite.start(
        setup,
        RouterFunctions.route(path("/end"), EndingsTest::end)
            .andRoute(all(), request -> ServerResponse.ok().build()),
        EndingsTest::answerTimeOut);
  }

  /** As a framework does that has an answer of its own to a time-out. */
  private static Mono<Void> answerTimeOut(ServerWebExchange exchange, WebFilterChain chain) {
    MultiValueMap<String, String> query = exchange.getRequest().getQueryParams();
    return chain
        .filter(exchange)
        .onErrorResume(
            failure ->
                failure instanceof TimeoutException
                    && "time-out-answered".equals(query.getFirst("how")),
            timeOut -> {
              var unused = exchange.getResponse().setStatusCode(HttpStatus.SERVICE_UNAVAILABLE);
              return exchange.getResponse().setComplete();
            });
  }

  private static Mono<ServerResponse> end(ServerRequest request) {
    int status = request.queryParam("status").map(Integer::valueOf).orElse(401);
    return switch (request.queryParam("how").orElseThrow()) {
      case "complete" -> ServerResponse.status(status).build().delayElement(SOON);
      case "no-status" -> ServerResponse.ok().build().delayElement(SOON);
      case "redirect" -> ServerResponse.status(302).location(URI.create("/elsewhere")).build();
      case "events" ->
          ServerResponse.ok()
              .contentType(MediaType.TEXT_EVENT_STREAM)
              .body(
                  Flux.range(0, 3).map(i -> ServerSentEvent.builder(i).build()),
                  new ParameterizedTypeReference<ServerSentEvent<Integer>>() {});
      case "time-out", "time-out-answered" -> Mono.<ServerResponse>never().timeout(SOON);
      case "time-out-handled" ->
          Mono.<ServerResponse>never().timeout(SOON, ServerResponse.status(status).build());
      case "sent-then-time-out" ->
          ServerResponse.status(status)
              .contentType(MediaType.TEXT_EVENT_STREAM)
              .body(
                  Flux.concat(Flux.just("sent"), Flux.<String>never().timeout(LATER)),
                  String.class);
      case "status-exception" ->
          Mono.error(new ResponseStatusException(HttpStatusCode.valueOf(status)));
      case "upstream-away" ->
          Mono.error(new UncheckedIOException(new ConnectException("Connection refused")));
      case "upstream-reset" ->
          Mono.error(
              new WebClientRequestException(
                  new IOException("Connection reset by peer"),
                  HttpMethod.GET,
                  URI.create("/users"),
                  new HttpHeaders()));
      case "upstream-time-out" ->
          Mono.error(new IllegalStateException(new TimeoutException("no connection in the pool")));
      default -> Mono.error(new IllegalStateException("crashed, as the test wants"));
    };
  }

  @ParameterizedTest
  @CsvSource({
    // What turns an exception into a response stands in front of the filter.
    "/end?how=status-exception            , 401, true,  false, true",
    "/end?how=status-exception&status=503 , 503, false, true,  true",
    // The handler's own time-out is its own affair: the filter sees a status.
    "/end?how=time-out-handled&status=503 , 503, false, true,  true",
    // The client is still connected, and receives the application's 500.
    "/end?how=upstream-away               , 500, false, true,  true",
    "/end?how=upstream-reset              , 500, false, true,  true",
    "/end?how=upstream-time-out           , 500, false, true,  true",
  })
  void endingOfExchanges_isCountedByItsStatus(
      String path, int status, boolean of401, boolean of500, boolean allButSuccess)
      throws Exception {
    assertEnding(path, status, of401, of500, allButSuccess);
  }
}
