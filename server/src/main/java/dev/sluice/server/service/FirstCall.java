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
import dev.sluice.server.net.SluiceServer;
import dev.sluice.server.rls.RlsPart;
import dev.sluice.store.BucketStore;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/*
 * The first call of a process takes 0.1 s and more, for the classes that it needs, and all calls
 * that come in that time wait with it. So the server makes that call itself, before it says that
 * it listens. It asks a server of its own, on a port of loopback and for a moment: there it needs
 * no token and no certificate, and no metric, audit log or bucket of the real one sees the call.
 * The frames are written here, as the client of the HTTP library took half a second of the start.
 */
/** The first call of Envoy's service in this process. */
final class FirstCall {

  private static final String LIMIT = "ApiCallsPerKey";
  private static final int TIMEOUT_MILLIS = 2_000;
  private static final int FRAME_HEADER = 9;
  private static final int DATA = 0;
  private static final int HEADERS = 1;
  private static final int SETTINGS = 4;
  private static final int END_STREAM = 1;
  private static final int END_HEADERS = 4;

  private FirstCall() {}

  /**
   * Makes the call, and waits for the answer.
   *
   * @throws IOException if there is none
   */
  static void make() throws IOException {
    Limits limits = Limits.builder(Catalogue.samples()).limit(LIMIT, quota()).build();
    BucketStore store = BucketStore.inMemory();
    CompositeMeterRegistry meters = new CompositeMeterRegistry(); // goes nowhere
    SluiceServer server =
        SluiceServer.builder(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .part(new ProblemsPart())
            .part(new AccessPart(Access.open(AuditLog.none(), meters)))
            .part(RlsPart.builder(Limiter.of(limits, store), () -> {}, meters).build())
            .start();
    try {
      call(server.address());
    } finally {
      Thread closing =
          new Thread(
              () -> {
                server.drain();
                store.close();
              },
              "sluice-first-call");
      closing.setDaemon(true);
      closing.start();
    }
  }

  private static Quota quota() {
    return Quota.per(1, Duration.ofSeconds(1));
  }

  private static void call(InetSocketAddress address) throws IOException {
    try (Socket socket = new Socket()) {
      socket.connect(address, TIMEOUT_MILLIS);
      socket.setSoTimeout(TIMEOUT_MILLIS);
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      out.writeBytes(ascii("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
      frame(out, SETTINGS, 0, 0, new byte[0]);
      frame(out, HEADERS, END_HEADERS, 1, headers());
      frame(out, DATA, END_STREAM, 1, message());
      socket.getOutputStream().write(out.toByteArray());
      awaitEnd(new DataInputStream(socket.getInputStream()));
    }
  }

  private static void awaitEnd(DataInputStream in) throws IOException {
    boolean ended = false;
    while (!ended) {
      byte[] head = new byte[FRAME_HEADER];
      in.readFully(head);
      in.readFully(new byte[ByteBuffer.wrap(head).getInt() >>> Byte.SIZE]);
      boolean ofCall = head[FRAME_HEADER - 1] == 1;
      ended = ofCall && (head[4] & END_STREAM) != 0 && (head[3] == DATA || head[3] == HEADERS);
    }
  }

  private static void frame(
      ByteArrayOutputStream out, int type, int flags, int stream, byte[] content) {
    ByteBuffer head = ByteBuffer.allocate(FRAME_HEADER);
    head.putInt(content.length << Byte.SIZE | type).put((byte) flags).putInt(stream);
    out.writeBytes(head.array());
    out.writeBytes(content);
  }

  /** Each as text that no table has. */
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
