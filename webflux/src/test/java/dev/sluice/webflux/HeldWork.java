// SPDX-License-Identifier: Apache-2.0
package dev.sluice.webflux;

import dev.sluice.testkit.web.HeldRequest;
import dev.sluice.testkit.web.HeldRequests;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** Work on an exchange that takes as long as the test wants. */
final class HeldWork implements HeldRequest {

  private final Sinks.One<Integer> status = Sinks.one();
  private final Sinks.Empty<Void> writing = Sinks.empty();

  static Mono<ServerResponse> on(ServerRequest request, HeldRequests requests) {
    HeldWork work = new HeldWork();
    String then = request.queryParam("then").orElse("");
    Mono<ServerResponse> response =
        request
            .queryParam("committed")
            .map(committed -> work.events(Integer.parseInt(committed)))
            .orElseGet(() -> work.answer(request, then));
    if (then.isEmpty()) {
      requests.left();
    }
    requests.arrived(work);
    return then.isEmpty() ? response : response.doFinally(end -> requests.left());
  }

  private Mono<ServerResponse> answer(ServerRequest request, String then) {
    Mono<Void> before =
        then.equals("read") ? request.bodyToMono(String.class).then() : Mono.empty();
    return status
        .asMono()
        .flatMap(ended -> before.then(ServerResponse.status(ended).bodyValue("checked")));
  }

  /** One event at once; when the test wants, more of them until nobody takes them any more. */
  private Mono<ServerResponse> events(int committed) {
    Flux<String> more = writing.asMono().thenMany(Flux.<String>generate(sink -> sink.next("2")));
    return ServerResponse.status(committed)
        .contentType(MediaType.TEXT_EVENT_STREAM)
        .body(Flux.concat(Flux.just("1"), more), String.class);
  }

  @Override
  public void end(int ended) {
    var unused = status.tryEmitValue(ended);
  }

  @Override
  public void writeUntilBroken() {
    var unused = writing.tryEmitEmpty();
  }
}
