// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.linecorp.armeria.client.grpc.GrpcClients;
import dev.sluice.Limiter;
import dev.sluice.limit.Limits;
import dev.sluice.server.Aside;
import dev.sluice.server.TestParts;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.base.RefusedException.NotReadyException;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc.RateLimitServiceBlockingStub;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.function.Consumer;

/**
 * A server with this door and that of HTTP on one free port, and a client of Envoy's own classes.
 */
final class TestRlsServer implements AutoCloseable {

  static final String EDGE = "edge";
  private static final Settings USUAL = Settings.of(OverridePolicy.ALLOW);

  final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  final ConnectionBudget traffic;
  private final SluiceServer server;

  TestRlsServer(Limits limits, BucketStore store) {
    this(limits, store, USUAL);
  }

  TestRlsServer(Limits limits, BucketStore store, Settings settings) {
    this(Limiter.of(limits, store), store, settings, port -> {});
  }

  TestRlsServer(Limits limits, BucketStore store, ConnectionBudget traffic) {
    this(Limiter.of(limits, store), store, USUAL, traffic, port -> {});
  }

  TestRlsServer(Limits limits, BucketStore store, Consumer<SluiceServer.Builder> port) {
    this(Limiter.of(limits, store), store, USUAL, port);
  }

  /** With a limiter that has rules of its own for a store that is away. */
  TestRlsServer(Limiter limiter, BucketStore store) {
    this(limiter, store, USUAL, port -> {});
  }

  private TestRlsServer(
      Limiter limiter, BucketStore store, Settings settings, Consumer<SluiceServer.Builder> port) {
    this(limiter, store, settings, ConnectionBudget.usual(), port);
  }

  private TestRlsServer(
      Limiter limiter,
      BucketStore store,
      Settings settings,
      ConnectionBudget traffic,
      Consumer<SluiceServer.Builder> port) {
    this.traffic = traffic;
    Runnable ready =
        () -> {
          if (!traffic.isOpen()) {
            throw new NotReadyException("the server is stopping");
          }
          store.ping();
        };
    RlsPart part =
        new RlsPart(
            limiter,
            settings,
            ready,
            AuditLog.none(),
            Denials.none(),
            meters,
            new OpenCalls(meters));
    SluiceServer.Builder builder =
        SluiceServer.builder(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), traffic)
            .part(TestParts.http(limiter, store))
            .part(part)
            .part(part.json());
    port.accept(builder);
    this.server = builder.start();
  }

  InetSocketAddress address() {
    return server.address();
  }

  String uri() {
    return "gproto+h2c://" + HostPort.format(address());
  }

  RateLimitServiceBlockingStub client() {
    return GrpcClients.newClient(uri(), RateLimitServiceBlockingStub.class);
  }

  RateLimitResponse ask(RateLimitDescriptor.Builder... descriptors) {
    return client().shouldRateLimit(request(descriptors).build());
  }

  static RateLimitRequest.Builder request(RateLimitDescriptor.Builder... descriptors) {
    RateLimitRequest.Builder request = RateLimitRequest.newBuilder().setDomain(EDGE);
    for (RateLimitDescriptor.Builder descriptor : descriptors) {
      request.addDescriptors(descriptor);
    }
    return request;
  }

  /** Keys and values, in turn. */
  static RateLimitDescriptor.Builder descriptor(String... entries) {
    RateLimitDescriptor.Builder descriptor = RateLimitDescriptor.newBuilder();
    for (int i = 0; i < entries.length; i += 2) {
      descriptor.addEntries(
          RateLimitDescriptor.Entry.newBuilder().setKey(entries[i]).setValue(entries[i + 1]));
    }
    return descriptor;
  }

  /** Ends the server as SIGTERM does, and waits for the end. */
  void stop() {
    server.close();
  }

  /** Does not wait: the library's acceptor takes two seconds to be sure that nobody comes. */
  @Override
  public void close() {
    Aside.run(this::stop);
  }
}
