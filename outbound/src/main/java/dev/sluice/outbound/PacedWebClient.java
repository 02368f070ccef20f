// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import java.net.URI;
import java.util.Objects;
import org.springframework.web.reactive.function.client.ClientRequest;
import org.springframework.web.reactive.function.client.ClientResponse;
import org.springframework.web.reactive.function.client.ExchangeFilterFunction;
import org.springframework.web.reactive.function.client.ExchangeFunction;
import reactor.core.publisher.Mono;

/**
 * A filter for Spring's {@code WebClient}, of Spring 6.2 and 7. Requests wait for a {@link Pacer}
 * before they are sent. The pacer reads the responses and pauses requests if a response demands a
 * pause.
 *
 * <p>Each subscription is a separate request, and the wait begins with the subscription. A request
 * whose wait would be too long fails with a {@link RefusedRequestException}. A request stops
 * waiting if its subscriber cancels.
 *
 * <p>Stateless and thread-safe; never blocks.
 */
@SuppressWarnings("exports") // a module that uses this class requires Spring itself
public final class PacedWebClient {

  private PacedWebClient() {}

  /**
   * Returns a filter.
   *
   * @param pacer decides when requests are sent
   * @return the filter, for {@code WebClient.Builder.filter}
   */
  public static ExchangeFilterFunction filter(Pacer pacer) {
    Objects.requireNonNull(pacer, "pacer");
    return (request, next) -> exchange(pacer, request, next);
  }

  private static Mono<ClientResponse> exchange(
      Pacer pacer, ClientRequest request, ExchangeFunction next) {
    URI uri = request.url();
    return Mono.fromFuture(() -> pacer.admit(uri))
        .then(Mono.defer(() -> next.exchange(request)))
        .doOnNext(
            response ->
                pacer.learn(
                    uri, response.statusCode().value(), name -> response.headers().header(name)));
  }
}
