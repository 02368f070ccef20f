// SPDX-License-Identifier: Apache-2.0
package login;

import org.springframework.cloud.gateway.filter.ratelimit.KeyResolver;
import org.springframework.cloud.gateway.support.ipresolver.XForwardedRemoteAddressResolver;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

@Component("clientAddress")
class ClientAddress implements KeyResolver {

  private final XForwardedRemoteAddressResolver addresses =
      XForwardedRemoteAddressResolver.maxTrustedIndex(1);

  @Override
  public Mono<String> resolve(ServerWebExchange exchange) {
    return Mono.just(addresses.resolve(exchange).getAddress().getHostAddress());
  }
}
