// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import dev.sluice.proof.Connection;
import dev.sluice.proof.Endpoint;
import dev.sluice.proof.Http2Frames;
import java.io.IOException;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * An attack of hostile clients on the server. Each attack lasts a few seconds and stays within the
 * documented limits for clients.
 */
enum Attack {
  UNREAD_HTTP2("HTTP/2 responses that nobody reads", 32, 500_000) {
    @Override
    void run(HostileConnections peers) throws IOException {
      for (int i = 0; i < 32; i++) {
        HostileConnection peer = peers.connectHttp2();
        peer.send(Http2Frames.greeting(1));
        for (int stream = 0; stream < 1000; stream++) {
          peer.send(Http2Frames.get(2 * stream + 1, "/openapi.json"));
        }
      }
      peers.pumpAll(forSeconds());
    }
  },
  HTTP2_BODIES("unfinished HTTP/2 bodies on one connection, 16 KiB at a time", 1, 500_000) {
    @Override
    void run(HostileConnections peers) throws IOException {
      bodies(peers, "/v1/spend", "application/json", 16_384);
    }
  },
  HTTP2_CRUMBS("unfinished HTTP/2 bodies on one connection, a byte at a time", 1, 500_000) {
    @Override
    void run(HostileConnections peers) throws IOException {
      bodies(peers, "/v1/spend", "application/json", 1);
    }
  },
  GRPC_BODIES("unfinished gRPC messages on one connection, 16 KiB at a time", 1, 500_000) {
    @Override
    void run(HostileConnections peers) throws IOException {
      bodies(
          peers,
          "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
          "application/grpc",
          16_384);
    }
  },
  HTTP1_BODIES("600 unfinished HTTP/1.1 bodies", 600, 10_000_000) {
    @Override
    void run(HostileConnections peers) throws IOException {
      byte[] head = head(MOST_BODY);
      byte[] body = new byte[MOST_BODY - 1];
      flood(peers, 600, head, body);
    }
  },
  HTTP1_STREAMS(
      "600 endless streams of decisions, whose responses no client reads", 600, 10_000_000) {
    @Override
    void run(HostileConnections peers) throws IOException {
      byte[] head = head(DECISIONS, NDJSON, String.valueOf(MOST_BODY));
      byte[] lines = Connection.ascii(CHECK.repeat(MOST_BODY / CHECK.length()));
      flood(peers, 600, head, lines);
    }
  },
  ONE_BYTE_TOO_MANY(
      "bodies one byte too long: 300 streams of decisions in chunks, and 4 HTTP/2 connections full of such streams, whose responses nobody reads",
      304,
      10_000_000) {
    @Override
    void run(HostileConnections peers) throws IOException {
      byte[] lines = Connection.ascii(CHECK.repeat(MOST_BODY / CHECK.length() + 1));
      byte[] body = Arrays.copyOf(lines, MOST_BODY + 1);
      for (HostileConnection peer : peers.connectAll(300, 2, Endpoint.HTTP1)) {
        peer.send(CHUNKED, body);
      }
      Http2Bodies[] http2 = new Http2Bodies[4];
      byte[] piece = Arrays.copyOf(lines, Http2Frames.LARGEST_FRAME);
      BooleanSupplier over = forSeconds();
      while (!over.getAsBoolean()) {
        boolean some = peers.pump();
        for (int i = 0; i < http2.length; i++) {
          if (http2[i] == null || http2[i].isBroken()) {
            // Connects, or connects again after the server has closed the connection. The attack's
            // HTTP/1.1 connections come from other addresses than its HTTP/2 connections.
            HostileConnection peer = peers.connectHttp2(Endpoint.FIRST_HOSTILE_ADDRESS + 2 + i % 2);
            http2[i] = Http2Bodies.unread(peer, DECISIONS, NDJSON, piece, MOST_BODY + 1);
          }
          some |= http2[i].pump();
        }
        if (!some) {
          rest();
        }
      }
    }
  },
  HTTP1_HEADS("2,000 unfinished HTTP/1.1 headers", 2_000, 10_000_000) {
    @Override
    void run(HostileConnections peers) throws IOException {
      byte[] line =
          Connection.ascii(
              "GET /healthz?" + "x".repeat(15_000) + " HTTP/1.1\r\nHost: localhost\r\n");
      byte[] header = Connection.ascii("X: " + "x".repeat(15_000));
      flood(peers, 2_000, line, header);
    }
  },
  PIPELINED("pipelined requests whose responses nobody reads", 64, 1_000_000) {
    @Override
    void run(HostileConnections peers) throws IOException {
      byte[] requests =
          Connection.ascii("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(20_000));
      flood(peers, 64, requests);
    }
  },
  IDLE("10,000 idle connections from two addresses", 10_000, 0) {
    @Override
    void run(HostileConnections peers) throws IOException {
      var unused = peers.connectAll(10_000, 2, Endpoint.HTTP1);
      peers.pumpAll(forSeconds());
    }
  },
  IDLE_HTTP2("5,000 idle HTTP/2 connections from five addresses", 5_000, 100_000) {
    @Override
    void run(HostileConnections peers) throws IOException {
      for (HostileConnection peer : peers.connectAll(5_000, 5, Endpoint.HTTP2)) {
        peer.send(Http2Frames.greeting(Http2Frames.DEFAULT_WINDOW));
      }
      peers.pumpAll(forSeconds());
    }
  },
  EXPECTATIONS("1,000 requests with Expect: x, and 1,000 broken HTTP/2 frames", 3_000, 100_000) {
    @Override
    void run(HostileConnections peers) throws IOException {
      byte[] expect =
          Connection.ascii("GET /healthz HTTP/1.1\r\nHost: localhost\r\nExpect: x\r\n\r\n");
      byte[] broken =
          Http2Frames.joined(
              Http2Frames.greeting(1),
              Http2Frames.frame(Http2Frames.DATA, 0, 0, new byte[] {1, 2, 3}));
      for (int i = 0; i < 1000; i++) {
        sendOnce(peers.connect(Endpoint.FIRST_HOSTILE_ADDRESS), expect);
        sendOnce(peers.connectHttp2(Endpoint.FIRST_HOSTILE_ADDRESS), broken);
      }
      for (int i = 0; i < 500; i++) {
        peers.connect().send(expect);
        peers.connectHttp2().send(broken);
      }
      peers.pumpAll(forSeconds());
    }

    private void sendOnce(HostileConnection peer, byte[] bytes) {
      try (peer) {
        peer.send(bytes);
        var unused = peer.pump();
      }
    }
  };

  private static final String DECISIONS = "/v1/decisions";
  private static final String NDJSON = "application/x-ndjson";
  private static final String CHECK =
      "{\"op\":\"check\",\"limit\":\"LoginsPerIPAddress\",\"id\":\"192.0.2.9\"}\n";

  private static final int MOST_BODY = Integer.getInteger("attacks.body", 1 << 17);

  /**
   * The header of a chunked request. The only chunk of the request is one byte larger than the
   * largest allowed body.
   */
  private static final byte[] CHUNKED =
      Connection.ascii(
          "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\n"
              .formatted(DECISIONS, NDJSON, Integer.toHexString(MOST_BODY + 1)));

  private static final long SECONDS = Long.getLong("attacks.seconds", 8);

  private final String text;
  private final int connections;
  private final long leastBytes;

  /**
   * Describes an attack.
   *
   * @param connections the number of connections that the attack must open; if it opens fewer, the
   *     attack counts as not tried
   * @param leastBytes the minimum number of bytes that the attack must send; the server can reject
   *     further bytes
   */
  Attack(String text, int connections, long leastBytes) {
    this.text = text;
    this.connections = connections;
    this.leastBytes = leastBytes;
  }

  String text() {
    return text;
  }

  /**
   * Opens all connections, and attacks for several seconds. The server is allowed to close the
   * connections.
   *
   * @throws IOException if a connection was not opened
   */
  abstract void run(HostileConnections peers) throws IOException;

  /** Runs the attack. Returns the reason if the attack counts as not tried; empty if it was run. */
  String attempt(HostileConnections peers) {
    String cause = "";
    try (peers) {
      run(peers);
    } catch (IOException e) {
      cause = ": " + e.getMessage();
    }
    boolean tookPlace =
        peers.opened() >= connections
            && peers.refused() <= connections / 10
            && peers.sentBytes() >= leastBytes;
    return cause.isEmpty() && tookPlace
        ? ""
        : String.format(
            Locale.ROOT,
            "not tried: %,d of %,d connections were opened, %,d were refused, and %,d of at least %,d bytes were sent%s",
            peers.opened(),
            connections,
            peers.refused(),
            peers.sentBytes(),
            leastBytes,
            cause);
  }

  /** Returns a condition that becomes true when an attack that starts now must end. */
  private static BooleanSupplier forSeconds() {
    long startNanos = System.nanoTime();
    return () -> System.nanoTime() - startNanos > TimeUnit.SECONDS.toNanos(SECONDS);
  }

  static byte[] head(int bodyBytes) {
    return head(String.valueOf(bodyBytes));
  }

  static byte[] head(String bodyBytes) {
    return head("/v1/spend", "application/json", bodyBytes);
  }

  static byte[] head(String path, String mediaType, String bodyBytes) {
    return Connection.ascii(
        "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %s\r\n\r\n"
            .formatted(path, mediaType, bodyBytes));
  }

  /** Sends the same bytes on many connections, repeatedly and as fast as the server reads them. */
  static void flood(HostileConnections peers, int connections, byte[]... bytes) throws IOException {
    for (HostileConnection peer : peers.connectAll(connections, 2, Endpoint.HTTP1)) {
      peer.send(bytes);
    }
    peers.pumpAll(forSeconds());
  }

  private static void bodies(
      HostileConnections peers, String path, String mediaType, int pieceBytes) throws IOException {
    HostileConnection peer = peers.connectHttp2(Endpoint.FIRST_HOSTILE_ADDRESS);
    BooleanSupplier over = forSeconds();
    try (Http2Bodies bodies = new Http2Bodies(peer, path, mediaType, pieceBytes)) {
      while (!over.getAsBoolean()) {
        if (!bodies.pump()) {
          rest();
        }
      }
    }
  }

  static void rest() {
    try {
      Thread.sleep(1);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
