// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.Limiter;
import dev.sluice.limit.Limits;
import dev.sluice.server.Aside;
import dev.sluice.server.http.HttpPart;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.reservation.Reservations;
import dev.sluice.server.reservation.TokenKey;
import dev.sluice.store.BucketStore;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;

/** A server with a port for HTTP and one for Redis clients, free ones of loopback. */
final class TestRespServer implements AutoCloseable {

  private final SluiceServer http;
  private final RespServer resp;

  TestRespServer(Limits limits, BucketStore store) {
    this(limits, store, ConnectionBudget.usual());
  }

  TestRespServer(Limits limits, BucketStore store, ConnectionBudget traffic) {
    this(Limiter.of(limits, store), store, traffic);
  }

  TestRespServer(Limiter limiter, BucketStore store, ConnectionBudget traffic) {
    this.http =
        SluiceServer.builder(anyPort())
            .unreadyPeriod(Duration.ZERO)
            .part(new HttpPart(limiter, store))
            .traffic(traffic)
            .start();
    Reservations reservations = new Reservations(limiter, store, TokenKey.random());
    this.resp =
        RespServer.builder(anyPort(), limiter, reservations).version("1.2.3").start(traffic);
  }

  private static InetSocketAddress anyPort() {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  }

  InetSocketAddress address() {
    return resp.address();
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
