// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.linecorp.armeria.common.grpc.GrpcSerializationFormats;
import com.linecorp.armeria.server.ServerBuilder;
import com.linecorp.armeria.server.grpc.GrpcService;
import com.linecorp.armeria.server.grpc.GrpcServiceBuilder;
import dev.sluice.Limiter;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.net.Decorators;
import dev.sluice.server.net.Part;
import dev.sluice.server.net.SluiceServer;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Envoy's rate limit service over gRPC, with health checks and reflection. Immutable and
 * thread-safe.
 */
public final class RlsPart implements Part {

  private static final String REFLECTION =
      ServerReflectionGrpc.SERVICE_NAME + "/ServerReflectionInfo";

  private final RlsMeters meters;
  private final RateLimitRequests requests;
  private final RateLimitService service;
  private final LateGrpc grpc;
  private final JsonService json;
  private final Runnable ready;

  private RlsPart(Builder builder) {
    this.meters = new RlsMeters(builder.meters);
    this.requests =
        new RateLimitRequests(
            builder.limiter, builder.mapping(), builder.overrides, meters, builder.audit);
    this.service = new RateLimitService(requests, meters);
    this.json = new JsonService(requests, meters);
    this.ready = builder.ready;
    this.grpc =
        new LateGrpc(
            this::grpc,
            PlainCalls.METHOD,
            HealthGrpc.SERVICE_NAME + "/Check",
            HealthGrpc.SERVICE_NAME + "/Watch");
  }

  /**
   * Returns a builder.
   *
   * @param limiter decides
   * @param ready throws if the server cannot decide now, for health checks; may block
   * @param meters takes the door's meters
   * @return a builder
   */
  public static Builder builder(Limiter limiter, Runnable ready, MeterRegistry meters) {
    return new Builder(limiter, ready, meters);
  }

  @Override
  public void addTo(ServerBuilder server) {
    server
        .service(grpc, library -> new PlainCalls(library, requests, meters))
        .service(new LateGrpc(this::reflection, REFLECTION), Reflection::new);
  }

  /**
   * Returns the same service as JSON, for a port that answers more than gRPC.
   *
   * @return the part that adds {@code POST /json}
   */
  public Part json() {
    return server -> server.service("/json", json);
  }

  private GrpcService grpc() {
    return bounded(
        GrpcService.builder()
            .addService(service.definition())
            .addService(new HealthService(ready)));
  }

  /**
   * Describes the services that are made by then. Not on the event loop: there the library says
   * that the next answer may go while this one is written. The service of gRPC has not forgotten
   * its question yet, and answers it again. Off it, one call of a stream waits for the one before.
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
        .useClientTimeoutHeader(false) // it knows no bound; GrpcRequests does
        .exceptionHandler((context, status, cause, metadata) -> Failures.ofProtocol(cause))
        .build();
  }

  /**
   * Makes the services now, so that the first request does not wait for them.
   *
   * @param executor runs a task that takes processor time, and does not wait
   * @return done when they are made
   */
  @CanIgnoreReturnValue
  public CompletionStage<Void> prepare(Executor executor) {
    return grpc.make(executor).thenRun(() -> {});
  }

  @Override
  public void addFirst(Decorators decorators) {
    decorators.add(new GrpcRequests());
  }

  /** Makes an {@link RlsPart}. Not thread-safe. */
  public static final class Builder {
    private final Limiter limiter;
    private final Runnable ready;
    private final MeterRegistry meters;
    private OverridePolicy overrides = OverridePolicy.ALLOW;
    private AuditLog audit = AuditLog.none();
    private @Nullable Mapping mapping;

    private Builder(Limiter limiter, Runnable ready, MeterRegistry meters) {
      this.limiter = limiter;
      this.ready = ready;
      this.meters = meters;
    }

    /**
     * Sets what becomes of limits that proxies send; they are allowed if not called.
     *
     * @param policy the policy
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder overrides(OverridePolicy policy) {
      this.overrides = policy;
      return this;
    }

    /**
     * Sets the log that takes refunds; none if not called.
     *
     * @param log the log
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder audit(AuditLog log) {
      this.audit = log;
      return this;
    }

    @CanIgnoreReturnValue
    Builder mapping(Mapping other) {
      this.mapping = other;
      return this;
    }

    private Mapping mapping() {
      return mapping == null
          ? new RulesFirst(new NamedLimits(limiter::requireDefault), limiter::requireDefault)
          : mapping;
    }

    /**
     * Makes the part.
     *
     * @return the part
     */
    public RlsPart build() {
      return new RlsPart(this);
    }
  }
}
