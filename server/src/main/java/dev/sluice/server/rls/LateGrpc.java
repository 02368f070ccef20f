// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.linecorp.armeria.common.ExchangeType;
import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.server.HttpServiceWithRoutes;
import com.linecorp.armeria.server.Route;
import com.linecorp.armeria.server.RoutingContext;
import com.linecorp.armeria.server.ServiceConfig;
import com.linecorp.armeria.server.ServiceRequestContext;
import com.linecorp.armeria.server.grpc.GrpcService;
import dev.sluice.server.net.Requests;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A service of gRPC that is made when it is needed. The library generates code for each of its own
 * messages first. That took a third of the start of a server that nobody asked over gRPC.
 *
 * <p>Thread-safe. The first requests wait for the service, without blocking their event loop.
 */
final class LateGrpc implements HttpServiceWithRoutes {

  private final Set<Route> routes;
  private final Supplier<GrpcService> maker;
  private final AtomicBoolean begun = new AtomicBoolean();
  private final CompletableFuture<GrpcService> making = new CompletableFuture<>();
  private volatile @Nullable ServiceConfig config;
  private volatile @Nullable GrpcService known;
  private volatile @Nullable GrpcService made;

  /**
   * Describes a service.
   *
   * @param maker makes it; blocks for as long as that takes
   * @param methods the full names of all of its methods
   */
  LateGrpc(Supplier<GrpcService> maker, String... methods) {
    this.maker = maker;
    this.routes =
        Stream.of(methods)
            .map(method -> Route.builder().exact("/" + method).build())
            .collect(Collectors.toUnmodifiableSet());
  }

  @Override
  public Set<Route> routes() {
    return routes;
  }

  /**
   * Never: the library keeps a path as it was first spelled. A refusal over gRPC is a 200, so one
   * request for {@code //envoy.service…} would have all later ones refused for their path.
   */
  @Override
  public boolean shouldCachePath(String path, @Nullable String query, Route route) {
    return false;
  }

  @Override
  public void serviceAdded(ServiceConfig added) {
    config = added;
  }

  /**
   * Makes the service, once; the stage is done when it is there. A task that still waits for its
   * executor does not hold up the next caller, whose own executor may be free.
   */
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
      known = service; // reflection finds itself too, when it is added
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

  /** Always with a request in pieces: bodies that the library collects are counted by no budget. */
  @Override
  public ExchangeType exchangeType(RoutingContext context) {
    GrpcService service = made;
    return service == null || service.exchangeType(context).isResponseStreaming()
        ? ExchangeType.BIDI_STREAMING
        : ExchangeType.REQUEST_STREAMING;
  }

  /** Once it is made, the service can be found, by reflection for example. */
  @Override
  public <T> @Nullable T as(Class<T> type) {
    T own = HttpServiceWithRoutes.super.as(type);
    return own == null && type.isInstance(known) ? type.cast(known) : own;
  }
}
