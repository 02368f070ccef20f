// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.Selector.Match;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/** Shows the limits and one bucket. Blocks as the store does. */
@Endpoint(id = "sluice")
class SluiceEndpoint {

  private final Limiter limiter;

  SluiceEndpoint(Limiter limiter) {
    this.limiter = limiter;
  }

  Limiter limiter() {
    return limiter;
  }

  /** All limits that are configured. */
  @ReadOperation
  Map<String, Object> limits() {
    Limits limits = limiter.limits().get();
    Map<String, Object> shown = new LinkedHashMap<>();
    for (LimitName name : limits.configured()) {
      Map<String, Object> limit = new LinkedHashMap<>();
      limit.put("id", name.id().name());
      putQuota(limits.defaultFor(name), limit);
      limit.put("coverage", limits.coverage(name).name());
      limit.put("overrides", limits.overridesOf(name).size());
      shown.put(name.name(), limit);
    }
    return Map.of("limits", shown);
  }

  /**
   * One bucket, without spending from it.
   *
   * @param path the limit's name, and the id, which may have slashes
   */
  @ReadOperation
  WebEndpointResponse<Map<String, Object>> bucket(
      @Selector(match = Match.ALL_REMAINING) String[] path) {
    String unknown = unknown(path);
    if (unknown != null) {
      return notFound(unknown);
    }
    String limit = path[0];
    String id = id(path);
    try {
      Decision decision = limiter.check(limiter.transaction(limit, id).withCost(0));
      Map<String, Object> shown = new LinkedHashMap<>();
      shown.put("limit", limit);
      shown.put("id", id);
      Transaction transaction = decision.transaction();
      putQuota(transaction == null ? null : transaction.quota(), shown);
      shown.put("limited", decision.limited());
      if (decision.limited()) {
        shown.put("remaining", decision.remaining());
        shown.put("resetIn", decision.resetIn().toString());
      }
      return new WebEndpointResponse<>(shown);
    } catch (InvalidRequestException e) {
      return bad(e);
    }
  }

  /** What is wrong with a path that names no bucket; null if there is one. */
  @Nullable String unknown(String[] path) {
    try {
      LimitName name = limiter.limits().get().catalogue().get(path[0]);
      return path.length > 1
          ? null
          : "found no id after %s, expected one of the form %s".formatted(name, name.id().name());
    } catch (IllegalArgumentException e) {
      return e.getMessage();
    }
  }

  static String id(String[] path) {
    return String.join("/", Arrays.copyOfRange(path, 1, path.length));
  }

  static WebEndpointResponse<Map<String, Object>> notFound(String message) {
    return error(message, WebEndpointResponse.STATUS_NOT_FOUND);
  }

  static WebEndpointResponse<Map<String, Object>> bad(InvalidRequestException failure) {
    return error(String.valueOf(failure.getMessage()), WebEndpointResponse.STATUS_BAD_REQUEST);
  }

  /** Not an exception, which an advice of the application may answer. */
  private static WebEndpointResponse<Map<String, Object>> error(String message, int status) {
    return new WebEndpointResponse<>(Map.of("error", message), status);
  }

  private static void putQuota(@Nullable Quota quota, Map<String, Object> shown) {
    if (quota != null) {
      shown.put("burst", quota.burst());
      shown.put("count", quota.count());
      shown.put("period", quota.period().toString());
    }
  }

  /** The same, which resets buckets too: where {@code sluice.endpoint.reset} allows it. */
  @Endpoint(id = "sluice")
  static final class Resetting extends SluiceEndpoint {

    Resetting(Limiter limiter) {
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
}
