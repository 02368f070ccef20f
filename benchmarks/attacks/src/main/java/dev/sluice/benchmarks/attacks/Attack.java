// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.attacks;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Something that hostile clients do to the server for some seconds. Each keeps to every bound that
 * the documentation names.
 */
enum Attack {
  UNREAD_HTTP2("HTTP/2 responses that nobody reads") {
    @Override
    void run(InetSocketAddress server) throws IOException {
      try (Peers peers = new Peers()) {
        for (int i = 0; i < 32; i++) {
          Peer peer = peers.connect(server);
          peer.send(Http2.greeting(1));
          for (int stream = 0; stream < 1000; stream++) {
            peer.send(Http2.get(2 * stream + 1, "/openapi.json"));
          }
        }
        peers.pumpAll(Attack::isOver);
      }
    }
  },
  HTTP2_BODIES("unfinished HTTP/2 bodies on one connection, 16 KiB at a time") {
    @Override
    void run(InetSocketAddress server) throws IOException {
      bodies(server, "/v1/spend", "application/json", 16_384);
    }
  },
  HTTP2_CRUMBS("unfinished HTTP/2 bodies on one connection, a byte at a time") {
    @Override
    void run(InetSocketAddress server) throws IOException {
      bodies(server, "/v1/spend", "application/json", 1);
    }
  },
  GRPC_BODIES("unfinished gRPC messages on one connection, 16 KiB at a time") {
    @Override
    void run(InetSocketAddress server) throws IOException {
      bodies(
          server,
          "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
          "application/grpc",
          16_384);
    }
  },
  HTTP1_BODIES("600 unfinished HTTP/1.1 bodies") {
    @Override
    void run(InetSocketAddress server) throws IOException {
      byte[] head = head(MOST_BODY);
      byte[] body = new byte[MOST_BODY - 1];
      try (Peers peers = new Peers()) {
        for (int i = 0; i < 600; i++) {
          peers.connect(server).send(head, body);
        }
        peers.pumpAll(Attack::isOver);
      }
    }
  },
  HTTP1_HEADS("2,000 unfinished HTTP/1.1 headers") {
    @Override
    void run(InetSocketAddress server) throws IOException {
      byte[] line =
          ascii("GET /healthz?" + "x".repeat(15_000) + " HTTP/1.1\r\nHost: localhost\r\n");
      byte[] header = ascii("X: " + "x".repeat(15_000));
      try (Peers peers = new Peers()) {
        for (int i = 0; i < 2000; i++) {
          peers.connect(server).send(line, header);
        }
        peers.pumpAll(Attack::isOver);
      }
    }
  },
  PIPELINED("pipelined requests whose responses nobody reads") {
    @Override
    void run(InetSocketAddress server) throws IOException {
      byte[] requests = ascii("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(20_000));
      try (Peers peers = new Peers()) {
        for (int i = 0; i < 64; i++) {
          peers.connect(server).send(requests);
        }
        peers.pumpAll(Attack::isOver);
      }
    }
  },
  IDLE("10,000 idle connections from two addresses") {
    @Override
    void run(InetSocketAddress server) throws IOException {
      idle(server, 10_000, 2);
    }
  },
  IDLE_HTTP2("5,000 idle HTTP/2 connections from five addresses") {
    @Override
    void run(InetSocketAddress server) throws IOException {
      try (Peers peers = new Peers()) {
        for (int i = 0; i < 5_000; i++) {
          Peer peer = Peer.connect(server, FIRST_ADDRESS + i % 5);
          peers.add(peer);
          peer.send(Http2.greeting(Http2.DEFAULT_WINDOW));
        }
        peers.pumpAll(Attack::isOver);
      }
    }
  },
  EXPECTATIONS("1,000 requests with Expect: x, and 1,000 broken HTTP/2 frames") {
    @Override
    void run(InetSocketAddress server) throws IOException {
      byte[] expect = ascii("GET /healthz HTTP/1.1\r\nHost: localhost\r\nExpect: x\r\n\r\n");
      byte[] broken =
          Http2.joined(Http2.greeting(1), Http2.frame(Http2.DATA, 0, 0, new byte[] {1, 2, 3}));
      for (int i = 0; i < 1000; i++) {
        for (byte[] bytes : List.of(expect, broken)) {
          try (Peer peer = Peer.connect(server, FIRST_ADDRESS)) {
            peer.send(bytes);
            var unused = peer.pump();
          }
        }
      }
      try (Peers peers = new Peers()) {
        for (int i = 0; i < 500; i++) {
          peers.connect(server).send(expect);
          peers.connect(server).send(broken);
        }
        peers.pumpAll(Attack::isOver);
      }
    }
  };

  /** The first address of the attackers is 127.0.0.2; the well-behaved client has 127.0.0.1. */
  static final int FIRST_ADDRESS = 2;

  private static final int MOST_BODY = Integer.getInteger("attacks.body", 1 << 17);
  private static final long SECONDS = Long.getLong("attacks.seconds", 8);
  private static final long NANOS_PER_SECOND = 1_000_000_000;
  private static final int READ_BUFFER = 1 << 12;

  private static long endNanos;

  private final String text;

  Attack(String text) {
    this.text = text;
  }

  String text() {
    return text;
  }

  abstract void run(InetSocketAddress server) throws IOException;

  void runForSeconds(InetSocketAddress server) throws IOException {
    endNanos = System.nanoTime() + SECONDS * NANOS_PER_SECOND;
    run(server);
  }

  private static boolean isOver() {
    return System.nanoTime() - endNanos > 0;
  }

  static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  static byte[] head(int bodyBytes) {
    return head(String.valueOf(bodyBytes));
  }

  static byte[] head(String bodyBytes) {
    return ascii(
        "POST /v1/spend HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "Content-Length: "
            + bodyBytes
            + "\r\n\r\n");
  }

  private static void bodies(
      InetSocketAddress server, String path, String mediaType, int pieceBytes) throws IOException {
    Peer peer = Peer.connect(server, FIRST_ADDRESS);
    try (Http2Bodies bodies = new Http2Bodies(peer, path, mediaType, pieceBytes)) {
      while (!isOver()) {
        if (!bodies.pump()) {
          rest();
        }
      }
    }
  }

  private static void idle(InetSocketAddress server, int connections, int addresses)
      throws IOException {
    List<SocketChannel> open = new ArrayList<>();
    try {
      for (int i = 0; i < connections && !isOver(); i++) {
        SocketChannel channel = SocketChannel.open();
        open.add(channel);
        channel.setOption(StandardSocketOptions.SO_LINGER, 0);
        channel.bind(new InetSocketAddress("127.0.0." + (FIRST_ADDRESS + i % addresses), 0));
        channel.connect(server);
      }
      while (!isOver()) {
        rest();
      }
    } finally {
      for (SocketChannel channel : open) {
        channel.close();
      }
    }
  }

  private static void rest() {
    try {
      Thread.sleep(1);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Many hostile connections, from two addresses, served by one thread. */
  private static final class Peers implements AutoCloseable {
    private final List<Peer> all = new ArrayList<>();

    Peer connect(InetSocketAddress server) throws IOException {
      Peer peer = Peer.connect(server, FIRST_ADDRESS + all.size() % 2);
      all.add(peer);
      return peer;
    }

    void add(Peer peer) {
      all.add(peer);
    }

    /** Sends whatever the server takes. */
    void pumpAll(BooleanSupplier over) {
      while (!over.getAsBoolean()) {
        boolean some = false;
        for (Peer peer : all) {
          some |= peer.pump();
        }
        if (!some) {
          rest();
        }
      }
    }

    @Override
    public void close() {
      all.forEach(Peer::close);
    }
  }

  static ByteBuffer readBuffer() {
    return ByteBuffer.allocate(READ_BUFFER);
  }
}
