// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.logging.RequestLog;
import com.linecorp.armeria.server.DecoratingHttpServiceFunction;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.async.Stages;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Counts and times requests by method, path and status, under the name that Spring Boot and
 * Micronaut use, so that their dashboards work. A path is that of a route, never what a client
 * sent: a client can't make a new series. Thread-safe; never blocks.
 */
final class RequestMeters implements DecoratingHttpServiceFunction {

  private static final String NO_PATH = "other";
  private static final Duration[] BUCKETS = {
    Duration.ofMillis(1),
    Duration.ofMillis(5),
    Duration.ofMillis(25),
    Duration.ofMillis(100),
    Duration.ofMillis(500),
    Duration.ofMillis(2500)
  };

  private final MeterRegistry registry;
  private final Map<Key, Timer> timers = new ConcurrentHashMap<>();

  RequestMeters(MeterRegistry registry) {
    this.registry = registry;
  }

  @Override
  public HttpResponse serve(HttpService next, ServiceRequestContext context, HttpRequest request)
      throws Exception {
    Stages.onSuccess(context.log().whenComplete(), log -> ended(context, log));
    return next.serve(context, request);
  }

  private void ended(ServiceRequestContext context, RequestLog log) {
    String path = context.config().route().patternString();
    HttpMethod method = context.method();
    Key key =
        new Key(
            method == HttpMethod.UNKNOWN ? NO_PATH : method.name(),
            context.config().route().isFallback() ? NO_PATH : path,
            log.responseStatus().code());
    Timer known = timers.get(key);
    Timer timer = known == null ? timers.computeIfAbsent(key, this::bind) : known;
    timer.record(log.totalDurationNanos(), TimeUnit.NANOSECONDS);
  }

  private Timer bind(Key key) {
    return Timer.builder("http.server.requests")
        .description("Requests by their route and the status of their answers")
        .tag("method", key.method())
        .tag("uri", key.path())
        .tag("status", Integer.toString(key.status()))
        .serviceLevelObjectives(BUCKETS)
        .register(registry);
  }

  private record Key(String method, String path, int status) {}
}
