// SPDX-License-Identifier: Apache-2.0
package dev.sluice.examples.servletlogin;

import dev.sluice.FailureRule;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.micrometer.LimiterMetrics;
import dev.sluice.redis.RedisStore;
import dev.sluice.servlet.RateLimitFilter;
import dev.sluice.store.BucketStore;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.ProxyHeader;
import dev.sluice.web.Rule;
import dev.sluice.web.VaryBy;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import jakarta.servlet.DispatcherType;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumSet;
import org.eclipse.jetty.ee10.servlet.FilterHolder;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * A login and an API on Jetty. The login allows an address 30 failed attempts per hour, and any
 * number of successful attempts. The API allows a key 50 calls per second.
 */
public final class LoginServer implements AutoCloseable {

  private final Server server = new Server();
  private final ServerConnector connector = new ServerConnector(server);

  /**
   * Builds the server.
   *
   * @param store where the buckets are kept
   * @param port the port on the loopback interface, 0 for a free one
   */
  public LoginServer(BucketStore store, int port) {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    Limiter limiter = limiter(new CurrentLimits(limits()), store, registry);
    ServletContextHandler context = new ServletContextHandler("/");
    // begin: register
    FilterHolder holder = new FilterHolder(filter(limiter));
    holder.setAsyncSupported(true);
    context.addFilter(holder, "/*", EnumSet.of(DispatcherType.REQUEST));
    // end: register
    context.addServlet(new ServletHolder(new LoginServlet()), "/login");
    context.addServlet(new ServletHolder(new ApiServlet()), "/api/*");
    context.addServlet(new ServletHolder(new MetricsServlet(registry)), "/metrics");
    server.setHandler(context);
    connector.setHost("127.0.0.1");
    connector.setPort(port);
    server.addConnector(connector);
  }

  // begin: metrics
  static Limiter limiter(CurrentLimits limits, BucketStore store, MeterRegistry registry) {
    LimiterMetrics metrics = new LimiterMetrics(registry, limits, store);
    metrics.filesLoaded(Instant.now());
    return Limiter.builder(limits, store)
        .observer(metrics)
        .onFailure("ApiCallsPerKey", FailureRule.allow())
        .onFailure("FailedLoginsPerIPAddress", FailureRule.deny())
        .build();
  }

  // end: metrics

  private static Limits limits() {
    return Limits.builder(Catalogue.samples())
        .limit("FailedLoginsPerIPAddress", Quota.per(30, Duration.ofHours(1)))
        .limit("LoginsPerUserPerIPAddress", Quota.per(5, Duration.ofMinutes(5)))
        .limit("ApiCallsPerKey", Quota.burst(100).refill(50, Duration.ofSeconds(1)))
        .build();
  }

  // begin: filter
  static RateLimitFilter filter(Limiter limiter) {
    return RateLimitFilter.builder(limiter)
        .clientAddress(ClientAddress.behind(ProxyHeader.X_FORWARDED_FOR, "127.0.0.1", "10.0.0.0/8"))
        .headers(HeaderProfile.IETF)
        .rule(
            Rule.on("/login")
                .methods("POST")
                .limit("FailedLoginsPerIPAddress", VaryBy.clientAddress())
                .countAllBut(200) // a good login costs nothing, all else counts
                .build())
        .rule(
            Rule.on("/login") // in shadow: counted and logged, refuses nobody
                .methods("POST")
                .limit(
                    "LoginsPerUserPerIPAddress",
                    VaryBy.clientAddress(),
                    VaryBy.queryParameter("user"))
                .shadow()
                .build())
        .rule(
            Rule.on("/api/{version}/**")
                .limit("ApiCallsPerKey", VaryBy.header("X-Api-Key").orId("nobody"))
                .build())
        .build();
  }

  // end: filter

  /**
   * Starts the server.
   *
   * @return the port on which the server listens
   * @throws Exception if the server cannot start
   */
  public int start() throws Exception {
    server.start();
    return connector.getLocalPort();
  }

  @Override
  public void close() throws Exception {
    server.stop();
  }

  /**
   * Runs the server until the process ends.
   *
   * @param args the port, by default 8080; and the address of the store, such as {@code
   *     redis://127.0.0.1:6379}, by default the memory of this process
   * @throws Exception if the server cannot start
   */
  public static void main(String[] args) throws Exception {
    int port = args.length > 0 ? Integer.parseInt(args[0]) : 8080;
    try (BucketStore store = args.length > 1 ? RedisStore.open(args[1]) : BucketStore.inMemory();
        LoginServer login = new LoginServer(store, port)) {
      System.out.println("listening on http://127.0.0.1:" + login.start());
      login.server.join();
    }
  }
}
