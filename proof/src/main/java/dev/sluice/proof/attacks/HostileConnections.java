// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import dev.sluice.proof.Endpoint;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/**
 * The hostile connections of one attack. All connections stay open until {@link #close}. Not
 * thread-safe: one thread sends and reads on all connections.
 */
final class HostileConnections implements AutoCloseable {

  private static final long OPENING_SECONDS = 60;
  private static final long OPENING_SECONDS_WITH_TLS = 240; // TLS handshakes are slow

  private static final int SHAKING_HANDS_AT_ONCE = 8;

  private final Endpoint server;
  private int refused;
  private final List<HostileConnection> all = new ArrayList<>();
  private final long startNanos = System.nanoTime();

  HostileConnections(Endpoint server) {
    this.server = server;
  }

  /** Opens a connection, alternately from two addresses. */
  HostileConnection connect() throws IOException {
    return connect(Endpoint.FIRST_HOSTILE_ADDRESS + all.size() % 2);
  }

  /**
   * Opens a connection.
   *
   * @param from the last number of the client's address 127.0.0.x
   * @throws IOException if this machine or the server refuses the connection; no exception is
   *     thrown if the server accepts the connection and then closes it
   */
  HostileConnection connect(int from) throws IOException {
    return connect(server.speaking(Endpoint.HTTP1), from);
  }

  /** Opens an HTTP/2 connection, alternately from two addresses. */
  HostileConnection connectHttp2() throws IOException {
    return connectHttp2(Endpoint.FIRST_HOSTILE_ADDRESS + all.size() % 2);
  }

  /** Opens an HTTP/2 connection. With TLS, the handshake negotiates HTTP/2. */
  HostileConnection connectHttp2(int from) throws IOException {
    return connect(server.speaking(Endpoint.HTTP2), from);
  }

  /**
   * Opens many connections, from several addresses in turn. With TLS, several threads make the
   * handshakes. Handshakes on a single thread would take so long that the server would close the
   * first connections as idle.
   *
   * @param protocol the protocol that the client requests in the TLS handshake, as in {@link
   *     Endpoint}
   * @return the new connections
   */
  List<HostileConnection> connectAll(int count, int addresses, String protocol) throws IOException {
    Endpoint to = server.speaking(protocol);
    AtomicInteger next = new AtomicInteger();
    List<HostileConnection> made = Collections.synchronizedList(new ArrayList<>());
    List<IOException> failures = Collections.synchronizedList(new ArrayList<>());
    Runnable connecting =
        () -> {
          try {
            for (int i = next.getAndIncrement(); i < count; i = next.getAndIncrement()) {
              made.add(connect(to, Endpoint.FIRST_HOSTILE_ADDRESS + i % addresses));
            }
          } catch (IOException e) {
            failures.add(e);
          }
        };
    List<Thread> threads = new ArrayList<>();
    for (int i = 1; i < (to.trust() == null ? 1 : SHAKING_HANDS_AT_ONCE); i++) {
      Thread thread = new Thread(connecting, "connecting");
      thread.start();
      threads.add(thread);
    }
    connecting.run();
    for (Thread thread : threads) {
      join(thread);
    }
    if (!failures.isEmpty()) {
      throw failures.get(0);
    }
    return made;
  }

  private static void join(Thread thread) throws IOException {
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while connecting");
    }
  }

  private HostileConnection connect(Endpoint to, int from) throws IOException {
    long most = to.trust() == null ? OPENING_SECONDS : OPENING_SECONDS_WITH_TLS;
    if (System.nanoTime() - startNanos > TimeUnit.SECONDS.toNanos(most)) {
      throw new IOException("connecting took more than " + most + " s");
    }
    HostileConnection peer = HostileConnection.connect(to, from);
    synchronized (this) {
      refused += peer.isBroken() ? 1 : 0;
      all.add(peer);
    }
    return peer;
  }

  /** Sends on all connections as much as the server accepts, until a condition is true. */
  void pumpAll(BooleanSupplier over) {
    while (!over.getAsBoolean()) {
      if (!pump()) {
        Attack.rest();
      }
    }
  }

  /**
   * Sends on all connections as much as the server accepts without waiting. Returns whether bytes
   * were sent.
   */
  boolean pump() {
    boolean some = false;
    for (HostileConnection peer : all) {
      some |= peer.pump();
    }
    return some;
  }

  int opened() {
    return all.size();
  }

  /** Returns how many connections the server closed immediately or during the TLS handshake. */
  int refused() {
    return refused;
  }

  long sentBytes() {
    return all.stream().mapToLong(HostileConnection::sentBytes).sum();
  }

  @Override
  public void close() {
    all.forEach(HostileConnection::close);
  }
}
