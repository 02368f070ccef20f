// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.server.ServerBuilder;
import dev.sluice.Limiter;
import dev.sluice.limit.Requirement.MissingDefault;
import dev.sluice.server.Part;
import dev.sluice.web.ClientAddress;

/**
 * The door for proxies that ask about each request before they pass it on: nginx, Caddy, Traefik,
 * HAProxy, Envoy. Immutable and thread-safe.
 */
public final class ForwardAuthPart implements Part {

  private final Limiter limiter;
  private final MissingDefault onMissing;
  private final ClientAddress clientAddress;

  /**
   * Makes the door.
   *
   * @param limiter decides; the rules are those that come with its limits
   * @param onMissing whether a request for a limit that is known, and not configured, is refused
   *     like one for an unknown limit
   * @param clientAddress which proxies are believed, and how the client's address is found
   */
  public ForwardAuthPart(Limiter limiter, MissingDefault onMissing, ClientAddress clientAddress) {
    this.limiter = limiter;
    this.onMissing = onMissing;
    this.clientAddress = clientAddress;
  }

  @Override
  public void addTo(ServerBuilder server) {
    ForwardAuthResource resource = new ForwardAuthResource(limiter, onMissing, clientAddress);
    // A proxy may pass on the length of an upload, however large: no body is read.
    server.route().path(ForwardAuthResource.PATH).maxRequestLength(0).build(resource);
    server.route().pathPrefix(ForwardAuthResource.PATH + "/").maxRequestLength(0).build(resource);
  }
}
