// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Limiter;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement.MissingDefault;
import dev.sluice.server.Aside;
import dev.sluice.server.TestParts;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.admin.RuntimeLimits;
import dev.sluice.server.http.HttpPart.AdminPart;
import dev.sluice.server.http.HttpPart.ExplainPart;
import dev.sluice.server.http.HttpPart.ForwardAuthPart;
import dev.sluice.server.http.HttpPart.MetricsPart;
import dev.sluice.server.http.HttpPart.ServerState;
import dev.sluice.server.http.HttpPart.StatsPart;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.HostPort;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.stats.Denials;
import dev.sluice.server.stats.RateHistory;
import dev.sluice.store.BucketStore;
import dev.sluice.web.ClientAddress;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;

/** A server on a free port of loopback, and a client for it. Thread-safe. */
final class TestServer implements AutoCloseable {

  static final ObjectMapper JSON = new ObjectMapper();

  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private final SluiceServer server;
  private final RateHistory history;
  private final RuntimeLimits runtime;

  TestServer(Limits limits, BucketStore store) {
    this(limits, store, MissingDefault.REFUSE);
  }

  TestServer(Limits limits, BucketStore store, MissingDefault policy) {
    this(limits, store, policy, SluiceServer.IDLE_TIMEOUT, SluiceServer.REQUEST_TIMEOUT);
  }

  TestServer(Limits limits, BucketStore store, Duration idle, Duration request) {
    this(limits, store, MissingDefault.REFUSE, idle, request);
  }

  private TestServer(
      Limits limits, BucketStore store, MissingDefault policy, Duration idle, Duration request) {
    this.runtime = RuntimeLimits.inMemory(new CurrentLimits(limits), store);
    Limiter limiter = Limiter.builder(runtime.limits(), store).missingDefault(policy).build();
    MeterRegistry meters = new SimpleMeterRegistry();
    this.history = RateHistory.start(meters);
    ConnectionBudget traffic =
        new ConnectionBudget(
            Runtime.getRuntime().maxMemory() / SluiceServer.HEAP_PER_BUDGET,
            SluiceServer.MAX_CONNECTIONS,
            SluiceServer.MAX_CONNECTIONS_PER_PEER,
            request.plus(SluiceServer.READ_TIMEOUT));
    ServerState state =
        new ServerState(
            history,
            meters,
            traffic,
            List::of,
            store,
            "memory",
            store::ping,
            "host-1",
            runtime,
            () -> null,
            limit -> "fail",
            List::of);
    this.server =
        SluiceServer.builder(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), traffic)
            .part(TestParts.http(limiter, store))
            .part(new AdminPart(runtime, AuditLog.none()))
            .part(new ForwardAuthPart(limiter, ClientAddress.direct(), meters, Denials.none()))
            .part(new ExplainPart(limiter, runtime, Denials.none()))
            .part(new StatsPart(state, null))
            .part(new MetricsPart(MetricsPart.newRegistry(), new CurrentLimits(limits), store))
            .idleTimeout(idle)
            .requestTimeout(request)
            .start();
  }

  InetSocketAddress address() {
    return server.address();
  }

  @CanIgnoreReturnValue
  HttpResponse<String> post(String path, String json) {
    return send("POST", path, BodyPublishers.ofString(json), "application/json");
  }

  HttpResponse<String> get(String path) {
    return send("GET", path, BodyPublishers.noBody(), null);
  }

  HttpResponse<String> send(
      String method, String path, BodyPublisher body, String contentType, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://" + HostPort.format(address()) + path))
            .timeout(PATIENCE)
            .method(method, body);
    if (contentType != null) {
      request.header("Content-Type", contentType);
    }
    if (headers.length > 0) {
      request.headers(headers);
    }
    try {
      return CLIENT.send(request.build(), BodyHandlers.ofString());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  static JsonNode json(HttpResponse<String> response) {
    try {
      return JSON.readTree(response.body());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Does not wait: the library's acceptor takes two seconds to be sure that nobody comes. */
  @Override
  public void close() {
    history.close();
    Aside.run(
        () -> {
          server.close();
          runtime.close();
        });
  }
}
