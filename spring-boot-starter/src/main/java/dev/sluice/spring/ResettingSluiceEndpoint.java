// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.Limiter;
import dev.sluice.limit.InvalidRequestException;
import java.util.Map;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.Selector.Match;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/** The same, which resets buckets too: where {@code sluice.endpoint.reset} allows it. */
@Endpoint(id = "sluice")
final class ResettingSluiceEndpoint extends SluiceEndpoint {

  ResettingSluiceEndpoint(Limiter limiter) {
    super(limiter);
  }

  @DeleteOperation
  WebEndpointResponse<Map<String, Object>> reset(
      @Selector(match = Match.ALL_REMAINING) String[] path) {
    String unknown = unknown(path);
    if (unknown != null) {
      return notFound(unknown);
    }
    try {
      limiter().reset(path[0], id(path));
      return new WebEndpointResponse<>(WebEndpointResponse.STATUS_NO_CONTENT);
    } catch (InvalidRequestException e) {
      return bad(e);
    }
  }
}
