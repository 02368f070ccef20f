// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.Limiter;
import dev.sluice.limit.Limits;
import dev.sluice.server.Aside;
import dev.sluice.server.TestParts;
import dev.sluice.server.access.Access;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** A server with a port for HTTP and one for Redis clients, free ones of loopback. */
final class TestRespServer implements AutoCloseable {

  private final SluiceServer http;
  private final RespServer resp;
  private final MeterRegistry meters = new SimpleMeterRegistry();

  TestRespServer(Limits limits, BucketStore store) {
    this(limits, store, ConnectionBudget.usual());
  }

  TestRespServer(Limits limits, BucketStore store, ConnectionBudget traffic) {
    this(Limiter.of(limits, store), store, traffic);
  }

  TestRespServer(Limiter limiter, BucketStore store, ConnectionBudget traffic) {
    this(limiter, store, traffic, Denials.none());
  }

  TestRespServer(Limiter limiter, BucketStore store, ConnectionBudget traffic, Denials denials) {
    this.http =
        SluiceServer.builder(anyPort(), traffic).part(TestParts.http(limiter, store)).start();
    Reservations reservations = new Reservations(limiter, store, TokenKey.random());
    this.resp =
        RespServer.start(
            anyPort(),
            limiter,
            reservations,
            Access.open(AuditLog.none(), meters, null, true),
            denials,
            null,
            meters,
            traffic);
  }

  private static InetSocketAddress anyPort() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  }

  InetSocketAddress address() {
    return resp.address();
  }

  MeterRegistry meters() {
    return meters;
  }

  RespClient connect() {
    return new RespClient(address());
  }

  /** Ends the server as SIGTERM does, and waits for the end. */
  void stop() {
    http.close();
    resp.close();
  }

  /** Does not wait: the library's acceptor takes two seconds to be sure that nobody comes. */
  @Override
  public void close() {
    Aside.run(this::stop);
  }
}
