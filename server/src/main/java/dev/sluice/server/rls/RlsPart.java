// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.linecorp.armeria.common.ExchangeType;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.grpc.GrpcSerializationFormats;
import com.linecorp.armeria.server.HttpService;
import com.linecorp.armeria.server.HttpServiceWithRoutes;
import com.linecorp.armeria.server.Route;
import com.linecorp.armeria.server.RoutingContext;
import com.linecorp.armeria.server.ServerBuilder;
import com.linecorp.armeria.server.ServiceConfig;
import com.linecorp.armeria.server.ServiceRequestContext;
import com.linecorp.armeria.server.SimpleDecoratingHttpService;
import com.linecorp.armeria.server.grpc.GrpcService;
import com.linecorp.armeria.server.grpc.GrpcServiceBuilder;
import dev.sluice.Limiter;
import dev.sluice.envoy.RateLimitServiceGrpc;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.access.Endpoint;
import dev.sluice.server.access.Permission;
import dev.sluice.server.net.Part;
import dev.sluice.server.net.Part.Decorators;
import dev.sluice.server.net.Requests;
import dev.sluice.server.net.Requests.GrpcEndpoint;
import dev.sluice.server.net.Requests.StreamingService;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.rls.GrpcRequests.GrpcStatuses;
import dev.sluice.server.rls.RateLimitService.RateLimitRequests;
import dev.sluice.server.stats.Denials;
import dev.sluice.web.HeaderProfile;
import io.grpc.Status;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.stub.StreamObserver;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Envoy's rate limit service over gRPC, with health checks and reflection. Immutable. */
public final class RlsPart implements Part {

  private static final String REFLECTION =
      ServerReflectionGrpc.SERVICE_NAME + "/ServerReflectionInfo";

  private final RlsMeters meters;
  private final RateLimitRequests requests;
  private final RateLimitService service;
  private final LateGrpc grpc;
  private final JsonService json;
  private final Runnable ready;

  /** Makes the part. */
  public RlsPart(
      Limiter limiter,
      Settings settings,
      Runnable ready,
      AuditLog audit,
      Denials denials,
      MeterRegistry registry,
      OpenCalls calls) {
    this.meters = new RlsMeters(registry);
    this.requests = new RateLimitRequests(limiter, settings, meters, audit, denials, calls);
    this.service = new RateLimitService(requests, meters);
    this.json = new JsonService(requests, meters);
    this.ready = ready;
    this.grpc =
        new LateGrpc(
            this::grpc,
            Map.of(
                PlainCalls.METHOD,
                Permission.DECIDE,
                HealthGrpc.SERVICE_NAME + "/Check",
                Permission.NOTHING,
                HealthGrpc.SERVICE_NAME + "/Watch",
                Permission.NOTHING));
  }

  @Override
  public void addTo(ServerBuilder server) {
    server
        .service(grpc, library -> new PlainCalls(library, requests, meters))
        .service(
            new LateGrpc(this::reflection, Map.of(REFLECTION, Permission.A_NAME)), Reflection::new);
  }

  /** Returns a part that serves {@code POST /json}: Envoy's rate limit requests as JSON. */
  public Part json() {
    return server -> new Endpoint("/json", Permission.DECIDE, json).addTo(server);
  }

  private GrpcService grpc() {
    return bounded(
        GrpcService.builder()
            .addService(service.definition())
            .addService(new HealthService(ready)));
  }

  /**
   * Makes gRPC's reflection service, which describes all existing gRPC services. The reflection
   * service does not run on an event loop. If the service ran on an event loop, Armeria would ask
   * for the next response before the current response is written, and gRPC's code would answer a
   * request twice.
   */
  private GrpcService reflection() {
    grpc.make(Runnable::run).join();
    return bounded(
        GrpcService.builder()
            .addService(ProtoReflectionServiceV1.newInstance())
            .useBlockingTaskExecutor(true));
  }

  private static GrpcService bounded(GrpcServiceBuilder builder) {
    return builder
        .supportedSerializationFormats(GrpcSerializationFormats.PROTO)
        .maxRequestMessageLength(SluiceServer.MAX_BODY)
        .useClientTimeoutHeader(false) // GrpcRequests bounds the time-out
        .exceptionHandler((context, status, cause, metadata) -> GrpcStatuses.ofProtocol(cause))
        .build();
  }

  /** Makes the gRPC services now, so that the first request does not wait. */
  @CanIgnoreReturnValue
  public CompletionStage<Void> prepare(Executor executor) {
    return grpc.make(executor).thenRun(() -> {});
  }

  @Override
  public void addFirst(Decorators decorators) {
    decorators.add(new GrpcRequests(requests, meters));
  }

  /**
   * A gRPC service that is made only when its first request arrives. Armeria generates code for
   * each gRPC service, which took a third of the startup time even of servers without gRPC clients.
   *
   * <p>Thread-safe. The first requests wait for the gRPC service without blocking an event loop.
   */
  static final class LateGrpc implements HttpServiceWithRoutes, Endpoint.Guarded, GrpcEndpoint {

    private final Set<Route> routes;
    private final Map<String, Permission> needs;
    private final Supplier<GrpcService> maker;
    private final AtomicBoolean begun = new AtomicBoolean();
    private final CompletableFuture<GrpcService> making = new CompletableFuture<>();
    private volatile @Nullable ServiceConfig config;
    private volatile @Nullable GrpcService known;
    private volatile @Nullable GrpcService made;

    /** Describes a gRPC service that is created later. */
    LateGrpc(Supplier<GrpcService> maker, Map<String, Permission> needs) {
      this.maker = maker;
      this.needs = Map.copyOf(needs);
      this.routes =
          needs.keySet().stream()
              .map(method -> Route.builder().exact("/" + method).build())
              .collect(Collectors.toUnmodifiableSet());
    }

    @Override
    public Set<Route> routes() {
      return routes;
    }

    @Override
    public Permission need(String path) {
      return needs.getOrDefault(path.substring(1), Permission.ADMIN);
    }

    /**
     * Returns false, so that Armeria does not cache paths. For all later requests with a cached
     * path, Armeria reports the path as the first client spelled it. A gRPC error has the HTTP
     * status 200, so Armeria would cache even a misspelled path: one request for {@code
     * //envoy.service…} would make the server refuse all later requests.
     */
    @Override
    public boolean shouldCachePath(String path, @Nullable String query, Route route) {
      return false;
    }

    @Override
    public void serviceAdded(ServiceConfig added) {
      config = added;
    }

    /** Makes the gRPC service once, and returns a future for it. */
    @CanIgnoreReturnValue
    CompletableFuture<GrpcService> make(Executor executor) {
      if (!begun.get()) {
        executor.execute(this::begin);
      }
      return making;
    }

    private void begin() {
      if (begun.compareAndSet(false, true)) {
        making.completeAsync(this::made, Runnable::run);
      }
    }

    private GrpcService made() {
      try {
        GrpcService service = maker.get();
        known = service; // reflection must list itself too
        ServiceConfig added = config;
        if (added != null) {
          service.serviceAdded(added);
        }
        made = service;
        return service;
      } catch (Exception e) {
        throw new IllegalStateException("the gRPC service could not be made", e);
      }
    }

    @Override
    public HttpResponse serve(ServiceRequestContext context, HttpRequest request) throws Exception {
      GrpcService service = made;
      return service == null
          ? HttpResponse.of(
              make(context.blockingTaskExecutor())
                  .thenApplyAsync(
                      ready -> Requests.pass(ready, context, request), context.eventLoop()))
          : service.serve(context, request);
    }

    /** Returns an exchange type with streamed requests. */
    @Override
    public ExchangeType exchangeType(RoutingContext context) {
      GrpcService service = made;
      return service == null || service.exchangeType(context).isResponseStreaming()
          ? ExchangeType.BIDI_STREAMING
          : ExchangeType.REQUEST_STREAMING;
    }

    /** Returns this object, or the gRPC service inside it, which gRPC's reflection looks for. */
    @Override
    public <T> @Nullable T as(Class<T> type) {
      T own = HttpServiceWithRoutes.super.as(type);
      return own == null && type.isInstance(known) ? type.cast(known) : own;
    }
  }

  /** gRPC's reflection as a stream: a client reads each response before its next request. */
  private static final class Reflection extends SimpleDecoratingHttpService
      implements StreamingService {

    Reflection(HttpService reflection) {
      super(reflection);
    }

    @Override
    public HttpResponse serve(ServiceRequestContext context, HttpRequest request) throws Exception {
      GrpcRequests.requireDeadline(context);
      return unwrap().serve(context, request);
    }
  }

  /** What the server does with a limit that a proxy sends in a descriptor. */
  public enum OverridePolicy {
    /** The limit that the proxy sends replaces the configured limit of the descriptor. */
    ALLOW,
    /** The server ignores limits that proxies send: callers are not trusted to choose limits. */
    IGNORE
  }

  /**
   * The settings of Envoy's rate limit service.
   *
   * @param headerNames the names of the three headers of {@link HeaderProfile#LEGACY}, for the
   *     limit, the remaining tokens and the reset; empty for the usual names
   * @param shadow whether the server allows every request and only counts denials
   * @param nearLimit the share of a limit, from 0 to 1, above which hits are counted as near the
   *     limit
   */
  public record Settings(
      OverridePolicy overrides,
      HeaderProfile headers,
      List<String> headerNames,
      boolean shadow,
      double nearLimit) {

    /** The default of {@code nearLimit}, as in Envoy's reference server. */
    public static final double USUAL_NEAR_LIMIT = 0.8;

    /** The default names of the legacy headers, in the order of {@link #headerNames}. */
    static final List<String> LEGACY_NAMES =
        List.of("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset");

    public Settings {
      headerNames = List.copyOf(headerNames);
      if (!headerNames.isEmpty() && headerNames.size() != LEGACY_NAMES.size()) {
        throw new IllegalArgumentException(
            "found %s header names, expected three or none".formatted(headerNames.size()));
      }
      if (!(nearLimit >= 0 && nearLimit <= 1)) {
        throw new IllegalArgumentException(
            "found the near-limit share %s, expected a number from 0 to 1".formatted(nearLimit));
      }
    }

    public static Settings of(OverridePolicy overrides) {
      return new Settings(overrides, HeaderProfile.IETF, List.of(), false, USUAL_NEAR_LIMIT);
    }

    String nameOf(String header) {
      int index = headerNames.isEmpty() ? -1 : LEGACY_NAMES.indexOf(header);
      return index < 0 ? header : headerNames.get(index);
    }
  }

  /** gRPC's health check; it reports whether the server is ready. */
  static final class HealthService extends HealthGrpc.HealthImplBase {

    /** Service names in health checks: the whole server, Envoy's reference server, this service. */
    private static final Set<String> SERVICES =
        Set.of("", "ratelimit", RateLimitServiceGrpc.SERVICE_NAME);

    private final Runnable ready;

    HealthService(Runnable ready) {
      this.ready = ready;
    }

    @Override
    public void check(HealthCheckRequest request, StreamObserver<HealthCheckResponse> observer) {
      if (!SERVICES.contains(request.getService())) {
        observer.onError(
            Status.NOT_FOUND
                .withDescription("no service has this name; use ratelimit or the empty name")
                .asRuntimeException());
        return;
      }
      // The readiness check can ping the store, and must not block an event loop.
      ServiceRequestContext.current()
          .blockingTaskExecutor()
          .execute(
              () -> {
                observer.onNext(HealthCheckResponse.newBuilder().setStatus(status()).build());
                observer.onCompleted();
              });
    }

    private ServingStatus status() {
      try {
        ready.run();
        return ServingStatus.SERVING;
      } catch (RuntimeException e) {
        return ServingStatus.NOT_SERVING;
      }
    }
  }
}
