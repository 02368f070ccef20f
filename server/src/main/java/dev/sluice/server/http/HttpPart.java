// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import static dev.sluice.server.access.Permission.ADMIN;
import static dev.sluice.server.access.Permission.DECIDE;
import static dev.sluice.server.access.Permission.NOTHING;
import static dev.sluice.server.access.Permission.READ;

import com.linecorp.armeria.common.AggregatedHttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.MediaType;
import com.linecorp.armeria.server.ServerBuilder;
import com.linecorp.armeria.server.ServerListener;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver.Act;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.micrometer.LimiterMetrics;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.Endpoint;
import dev.sluice.server.access.LimiterCalls;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.base.Generations;
import dev.sluice.server.base.RefusedException.NotReadyException;
import dev.sluice.server.http.DecisionStream.DecisionsResource;
import dev.sluice.server.http.HttpFailures.EarlyAnswers;
import dev.sluice.server.http.JsonResource.ActResource;
import dev.sluice.server.http.JsonResource.ReservationsResource;
import dev.sluice.server.http.JsonResource.TokenResource;
import dev.sluice.server.http.MethodService.Resource;
import dev.sluice.server.http.MetricsResource.ProcessMeters;
import dev.sluice.server.http.MetricsResource.RequestMeters;
import dev.sluice.server.http.ReloadResource.RollbackResource;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.Part;
import dev.sluice.server.net.Part.Decorators;
import dev.sluice.server.net.TaskThreads;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.stats.Denials;
import dev.sluice.server.stats.RateHistory;
import dev.sluice.server.stats.TopDenied;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import dev.sluice.web.ClientAddress;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Adds the paths of the HTTP API to a server.
 *
 * @param store the limiter's store, for a dry run of a reload
 * @param ready throws a {@link NotReadyException} or a {@link dev.sluice.store.StoreException} if
 *     the server cannot decide now; may block
 */
public record HttpPart(
    Limiter limiter,
    BucketStore store,
    Reservations reservations,
    Runnable ready,
    AuditLog audit,
    Generations generations,
    Denials denials)
    implements Part {

  /** The path of checks; a check charges nothing. */
  static final String CHECK = "/v1/check";

  /** The path of explanations, which charge nothing. */
  static final String EXPLAIN = "/v1/explain";

  /** The start of all paths of changes by administrators. */
  static final String ADMIN_PATHS = "/v1/admin/";

  private static final int MAX_WAITING_RELOADS = 100;

  @Override
  public void addTo(ServerBuilder server) {
    LimiterCalls acts = new LimiterCalls(limiter, audit, denials, "http");
    Executor reloads = TaskThreads.one(server, "sluice-reload", MAX_WAITING_RELOADS);
    new Endpoint("/", NOTHING, FileResource.index()).addTo(server);
    new Endpoint("/page/*", NOTHING, new FileResource()).addTo(server);
    AggregatedHttpResponse api = FileResource.text(MediaType.JSON_UTF_8, "openapi.json");
    new Endpoint("/openapi.json", NOTHING, Resource.get(context -> api)).addTo(server);
    new Endpoint("/healthz", NOTHING, Resource.get(context -> status("alive"))).addTo(server);
    new Endpoint("/readyz", NOTHING, Resource.blocking(context -> readiness())).addTo(server);
    new Endpoint(CHECK, DECIDE, new ActResource(Act.CHECK, acts)).addTo(server);
    new Endpoint("/v1/spend", DECIDE, new ActResource(Act.SPEND, acts)).addTo(server);
    new Endpoint("/v1/refund", ADMIN, new ActResource(Act.REFUND, acts))
        .act("refund")
        .addTo(server);
    new Endpoint("/v1/reset", ADMIN, new ActResource(Act.RESET, acts)).act("reset").addTo(server);
    new Endpoint("/v1/decisions", DECIDE, new DecisionsResource(acts))
        // DecisionsResource bounds the body itself, to report a large body in the response stream.
        .addWithoutBound(server);
    new Endpoint("/v1/reservations", DECIDE, new ReservationsResource(acts, reservations))
        .addTo(server);
    new Endpoint("/v1/reservations/*", DECIDE, new TokenResource(reservations)).addTo(server);
    new Endpoint(
            "/v1/limits",
            READ,
            Resource.get(
                context -> LimitResource.all(context, limiter.limits().get(), generations)))
        .addTo(server);
    new Endpoint("/v1/limits/*", READ, new LimitResource(limiter)).addTo(server);
    new Endpoint(
            "/v1/rules",
            READ,
            Resource.get(context -> RuleReadings.rules(context, limiter.limits().get())))
        .addTo(server);
    new Endpoint(
            "/v1/admin/reload",
            ADMIN,
            new ReloadResource(generations, audit, reloads, limiter, store, denials))
        .act("reload")
        .addTo(server);
    new Endpoint("/v1/admin/rollback", ADMIN, new RollbackResource(generations, audit, reloads))
        .act("rollback")
        .addTo(server);
    new ProblemsPart().addTo(server);
  }

  @Override
  public void addFirst(Decorators decorators) {
    new ProblemsPart().addFirst(decorators);
  }

  private static AggregatedHttpResponse status(String status) {
    return Answers.json(HttpStatus.OK, json -> json.put("status", status));
  }

  private AggregatedHttpResponse readiness() {
    try {
      ready.run();
    } catch (StoreException e) { // whose message is about charges
      throw new NotReadyException("the store does not answer", e);
    }
    return status("ready");
  }

  /** The paths to set overrides and penalties while the server runs. */
  public record AdminPart(RuntimeLimits limits, AuditLog audit) implements Part {

    /** The most changes that wait for the current change; a further change gets a 503. */
    static final int MAX_WAITING_CHANGES = 100;

    @Override
    public void addTo(ServerBuilder server) {
      Executor changes = TaskThreads.one(server, "sluice-changes", MAX_WAITING_CHANGES);
      new OverrideResource(limits, audit, changes).addTo(server);
      new PenaltyResource(limits, audit, changes).addTo(server);
    }
  }

  /** {@code GET /v1/stats}, {@code /v1/rates} and {@code /v1/admin/top-denied}. */
  public record StatsPart(ServerState state, @Nullable TopDenied topDenied) implements Part {

    @Override
    public void addTo(ServerBuilder server) {
      StatsResource stats = new StatsResource(state, topDenied);
      new Endpoint("/v1/stats", READ, Resource.blocking(stats::stats)).addTo(server);
      new Endpoint("/v1/rates", READ, Resource.get(stats::rates)).addTo(server);
      new Endpoint("/v1/admin/top-denied", READ, Resource.get(stats::topDenied)).addTo(server);
    }
  }

  /** Explains denials and rules: {@code POST /v1/explain}. */
  public record ExplainPart(Limiter limiter, RuntimeLimits runtime, Denials denials)
      implements Part {

    @Override
    public void addTo(ServerBuilder server) {
      new Endpoint(EXPLAIN, READ, new ExplainResource(limiter, runtime, denials)).addTo(server);
    }
  }

  /** Forward authentication: decides for proxies whether to pass on their clients' requests. */
  public record ForwardAuthPart(
      Limiter limiter, ClientAddress clientAddress, MeterRegistry meters, Denials denials)
      implements Part {

    @Override
    public void addTo(ServerBuilder server) {
      Counter unmatched =
          Counter.builder("sluice.forward.auth.unmatched")
              .description("Requests from proxies that no rule matched, so that they passed")
              .register(meters);
      ForwardAuthResource resource =
          new ForwardAuthResource(limiter, clientAddress, unmatched, denials);
      // Forward-auth never reads a body, so a bound would only refuse proxies that send the
      // Content-Length of a large upload.
      new Endpoint(ForwardAuthResource.PATH, DECIDE, resource).addWithoutBound(server);
      new Endpoint(ForwardAuthResource.PATH + "/*", DECIDE, resource).addWithoutBound(server);
    }
  }

  /** {@code GET /metrics}: the metrics of limiter, HTTP port, process and JVM. */
  public static final class MetricsPart implements Part {

    private final PrometheusMeterRegistry registry;
    private final LimiterMetrics metrics;

    /** Makes the part with a registry from {@link #newRegistry}. */
    public MetricsPart(PrometheusMeterRegistry registry, CurrentLimits limits, BucketStore store) {
      this.registry = registry;
      this.metrics = new LimiterMetrics(registry, limits, store);
      BuildInfo.bind(registry);
    }

    public static PrometheusMeterRegistry newRegistry() {
      return new PageMeters();
    }

    /** Returns the metrics, which observe the limiter and receive each load of limits. */
    public LimiterMetrics metrics() {
      return metrics;
    }

    @Override
    public void addTo(ServerBuilder server) {
      ProcessMeters process = ProcessMeters.bind(registry);
      new Endpoint("/metrics", READ, new MetricsResource(registry)).addTo(server);
      server.serverListener(
          ServerListener.builder().whenStopped(stopped -> process.close()).build());
    }

    @Override
    public void addLast(Decorators decorators) {
      decorators.add(new RequestMeters(registry));
    }
  }

  /** Turns failures into problem details, on a port without the HTTP API. */
  public static final class ProblemsPart implements Part {

    @Override
    public void addTo(ServerBuilder server) {
      server.errorHandler(new HttpFailures());
    }

    @Override
    public void addFirst(Decorators decorators) {
      decorators.add(new EarlyAnswers(new HttpFailures()));
    }
  }

  /**
   * The data sources of {@code GET /v1/stats}. Thread-safe if the record's components are
   * thread-safe.
   *
   * @param meters the meters of the store's circuit breakers
   * @param doors returns the addresses on which the server listens; called for each response
   * @param storeName {@code memory}, or the store's address without password; only the scheme if
   *     every client can read the statistics
   * @param ready throws if the server cannot decide now; may block
   * @param host the name of the machine
   * @param certificateEnd returns when the certificate in use ends; null without TLS
   * @param failureRule returns the failure rule of a limit, in words
   * @param servers returns the servers that share the store; empty if they are unknown
   */
  public record ServerState(
      RateHistory history,
      MeterRegistry meters,
      ConnectionBudget traffic,
      Supplier<List<OpenDoor>> doors,
      BucketStore store,
      String storeName,
      Runnable ready,
      String host,
      RuntimeLimits runtime,
      Supplier<@Nullable Instant> certificateEnd,
      Function<String, String> failureRule,
      Supplier<List<String>> servers) {

    /** An open door: {@code http}, {@code redis} or {@code grpc}, with host and port. */
    public record OpenDoor(String protocol, String address) {}
  }

  /** The versions of Sluice and of Java. */
  public static final class BuildInfo {

    private BuildInfo() {}

    /** Returns the version of Sluice; {@code development} if the classes are not in a jar. */
    public static String version() {
      String version = BuildInfo.class.getPackage().getImplementationVersion();
      return version == null ? "development" : version;
    }

    static void bind(MeterRegistry registry) {
      Gauge.builder("sluice.build.info", () -> 1)
          .description("Always 1, with the versions of Sluice and of Java as labels")
          .tag("version", version())
          .tag("java", Runtime.version().toString())
          .register(registry);
    }
  }
}
