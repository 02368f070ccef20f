// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.server.ServerBuilder;
import dev.sluice.Limiter;
import dev.sluice.server.net.Part;
import dev.sluice.web.ClientAddress;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;

/**
 * The door for proxies that ask about each request before they pass it on: nginx, Caddy, Traefik,
 * HAProxy, Envoy. Immutable and thread-safe.
 */
public final class ForwardAuthPart implements Part {

  private final Limiter limiter;
  private final ClientAddress clientAddress;
  private final MeterRegistry meters;

  /**
   * Makes the door.
   *
   * @param limiter decides; the rules are those that come with its limits
   * @param clientAddress which proxies are believed, and how the client's address is found
   * @param meters takes the door's counter
   */
  public ForwardAuthPart(Limiter limiter, ClientAddress clientAddress, MeterRegistry meters) {
    this.limiter = limiter;
    this.clientAddress = clientAddress;
    this.meters = meters;
  }

  @Override
  public void addTo(ServerBuilder server) {
    Counter unmatched =
        Counter.builder("sluice.forward.auth.unmatched")
            .description("Requests of proxies that no rule is for and that passed")
            .register(meters);
    ForwardAuthResource resource = new ForwardAuthResource(limiter, clientAddress, unmatched);
    // A proxy may pass on the length of an upload, however large: no body is read.
    server.route().path(ForwardAuthResource.PATH).maxRequestLength(0).build(resource);
    server.route().pathPrefix(ForwardAuthResource.PATH + "/").maxRequestLength(0).build(resource);
  }
}
