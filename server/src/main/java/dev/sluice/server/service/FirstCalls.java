// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import dev.sluice.Limiter;
import dev.sluice.envoy.RateLimitDescriptor;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.server.access.Access;
import dev.sluice.server.access.AccessPart;
import dev.sluice.server.access.AuditLog;
import dev.sluice.server.http.HttpPart.ProblemsPart;
import dev.sluice.server.net.ConnectionBudget;
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.rls.OpenCalls;
import dev.sluice.server.rls.RlsPart;
import dev.sluice.server.rls.RlsPart.OverridePolicy;
import dev.sluice.server.rls.RlsPart.Settings;
import dev.sluice.server.stats.Denials;
import dev.sluice.store.BucketStore;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/*
 * The first call of a process takes at least 0.1 s, since the JVM loads classes. The next thousand
 * calls are interpreted, at a tenth of the later rate, and delay the calls behind them. A proxy can
 * wait only 20 ms for a response. So the server makes the first calls itself, before it reports
 * that it listens. The server sends its first calls to a temporary server on a loopback port. The
 * calls to the temporary server need no token and no certificate, and they change no metric, audit
 * log or bucket of the real server. This class builds the HTTP/2 frames itself, because Armeria's
 * client would delay the startup by half a second.
 */
final class FirstCalls {

  private static final String LIMIT = "ApiCallsPerKey";
  private static final int TIMEOUT_MILLIS = 2_000;
  private static final int CALLS = 5_000;
  private static final int CALLS_OF_ROUND = 10;
  private static final long BUDGET_BYTES = 16 << 20;
  private static final Duration LONGEST = Duration.ofSeconds(2);
  private static final int MOST_WINDOW = 1 << 30;
  private static final int FRAME_HEADER = 9;
  private static final int DATA = 0;
  private static final int HEADERS = 1;
  private static final int SETTINGS = 4;
  private static final int WINDOW_UPDATE = 8;
  private static final int END_STREAM = 1;
  private static final int END_HEADERS = 4;

  private FirstCalls() {}

  /** Sends gRPC calls for at most two seconds; returns the number of calls if all were answered. */
  static int make() throws IOException {
    Limits limits = Limits.builder(Catalogue.samples()).limit(LIMIT, quota()).build();
    BucketStore store = BucketStore.inMemory();
    CompositeMeterRegistry meters = new CompositeMeterRegistry(); // discards the metrics
    ConnectionBudget traffic = new ConnectionBudget(BUDGET_BYTES, 1, 1, LONGEST);
    SluiceServer server =
        SluiceServer.builder(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), traffic)
            .part(new ProblemsPart())
            .part(new AccessPart(Access.open(AuditLog.none(), meters, null, true)))
            .part(
                new RlsPart(
                    Limiter.of(limits, store),
                    Settings.of(OverridePolicy.ALLOW),
                    () -> {},
                    AuditLog.none(),
                    Denials.none(),
                    meters,
                    new OpenCalls(meters)))
            .start();
    try {
      return callAll(server.address());
    } finally {
      Thread closing =
          new Thread(
              () -> {
                server.close();
                store.close();
              },
              "sluice-first-calls");
      closing.setDaemon(true);
      closing.start();
    }
  }

  private static Quota quota() {
    return Quota.per(1, Duration.ofSeconds(1));
  }

  private static int callAll(InetSocketAddress address) throws IOException {
    try (Socket socket = new Socket()) {
      socket.connect(address, TIMEOUT_MILLIS);
      socket.setSoTimeout(TIMEOUT_MILLIS);
      socket.setTcpNoDelay(true);
      OutputStream out = socket.getOutputStream();
      DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
      ByteArrayOutputStream preface = new ByteArrayOutputStream();
      preface.writeBytes(ascii("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
      frame(preface, SETTINGS, 0, 0, new byte[0]);
      frame(preface, WINDOW_UPDATE, 0, 0, ByteBuffer.allocate(4).putInt(MOST_WINDOW).array());
      out.write(preface.toByteArray());
      byte[] headers = headers();
      byte[] message = message();
      long began = System.nanoTime();
      int calls = 0;
      while (calls < CALLS && System.nanoTime() - began < LONGEST.toNanos()) {
        ByteArrayOutputStream round = new ByteArrayOutputStream();
        for (int i = 0; i < CALLS_OF_ROUND; i++) {
          int stream = 2 * calls++ + 1;
          frame(round, HEADERS, END_HEADERS, stream, headers);
          frame(round, DATA, END_STREAM, stream, message);
        }
        out.write(round.toByteArray());
        awaitEnds(in, CALLS_OF_ROUND);
      }
      return calls;
    }
  }

  private static void awaitEnds(DataInputStream in, int calls) throws IOException {
    int open = calls;
    while (open > 0) {
      byte[] head = new byte[FRAME_HEADER];
      in.readFully(head);
      in.readFully(new byte[ByteBuffer.wrap(head).getInt() >>> Byte.SIZE]);
      boolean ofCall = ByteBuffer.wrap(head).getInt(FRAME_HEADER - Integer.BYTES) != 0;
      if (ofCall && (head[4] & END_STREAM) != 0) {
        open--;
      }
    }
  }

  private static void frame(
      ByteArrayOutputStream out, int type, int flags, int stream, byte[] content) {
    ByteBuffer head = ByteBuffer.allocate(FRAME_HEADER);
    head.putInt(content.length << Byte.SIZE | type).put((byte) flags).putInt(stream);
    out.writeBytes(head.array());
    out.writeBytes(content);
  }

  /** Returns a call's encoded headers. Each header is a literal, without a compression table. */
  private static byte[] headers() {
    String[] headers = {
      ":method", "POST",
      ":scheme", "http",
      ":path", "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
      ":authority", "localhost",
      "content-type", "application/grpc",
      "te", "trailers"
    };
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    for (int i = 0; i < headers.length; i++) {
      if (i % 2 == 0) {
        out.write(0);
      }
      out.write(headers[i].length());
      out.writeBytes(ascii(headers[i]));
    }
    return out.toByteArray();
  }

  private static byte[] message() {
    RateLimitDescriptor.Builder descriptor = RateLimitDescriptor.newBuilder();
    descriptor.addEntriesBuilder().setKey(LIMIT).setValue("first");
    byte[] message =
        RateLimitRequest.newBuilder()
            .setDomain("first")
            .addDescriptors(descriptor)
            .build()
            .toByteArray();
    return ByteBuffer.allocate(5 + message.length)
        .put((byte) 0)
        .putInt(message.length)
        .put(message)
        .array();
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
