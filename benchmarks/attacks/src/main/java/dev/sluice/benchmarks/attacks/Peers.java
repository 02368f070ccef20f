// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.attacks;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * The hostile connections of one attack, served by one thread, and what they did. They stay open
 * until all are closed. Not thread-safe.
 */
final class Peers implements AutoCloseable {

  private static final long OPENING_SECONDS = 60;

  private final InetSocketAddress server;
  private final List<Peer> all = new ArrayList<>();
  private final long startNanos = System.nanoTime();

  Peers(InetSocketAddress server) {
    this.server = server;
  }

  /** Connects, from two addresses in turn. */
  Peer connect() throws IOException {
    return connect(Attack.FIRST_ADDRESS + all.size() % 2);
  }

  /**
   * Connects.
   *
   * @param from the last number of the address 127.0.0.x that the server sees
   * @throws IOException if this machine or the server refuses; a server that accepts and then hangs
   *     up does not refuse
   */
  Peer connect(int from) throws IOException {
    if (System.nanoTime() - startNanos > TimeUnit.SECONDS.toNanos(OPENING_SECONDS)) {
      throw new IOException("connecting took more than " + OPENING_SECONDS + " s");
    }
    Peer peer = Peer.connect(server, from);
    all.add(peer);
    return peer;
  }

  /** Sends whatever the server takes. */
  void pumpAll(BooleanSupplier over) {
    while (!over.getAsBoolean()) {
      if (!pump()) {
        Attack.rest();
      }
    }
  }

  /** Sends what the server takes now; true if that was something. */
  boolean pump() {
    boolean some = false;
    for (Peer peer : all) {
      some |= peer.pump();
    }
    return some;
  }

  /** How many connections were opened, those included that the server closed afterwards. */
  int opened() {
    return all.size();
  }

  /** How many bytes the network took, on all connections together. */
  long sentBytes() {
    return all.stream().mapToLong(Peer::sentBytes).sum();
  }

  @Override
  public void close() {
    all.forEach(Peer::close);
  }
}
