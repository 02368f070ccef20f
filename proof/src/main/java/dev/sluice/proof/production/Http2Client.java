// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import dev.sluice.envoy.RateLimitDescriptor;
import dev.sluice.envoy.RateLimitDescriptor.Entry;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.envoy.RateLimitResponse;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Several requests at once over HTTP/2, or calls of Envoy's rate limit service. Its goodbye is
 * GOAWAY: streams beyond the one that it names were not looked at, and are not lost.
 */
final class Http2Client implements Client {

  private static final int DATA = 0;
  private static final int HEADERS = 1;
  private static final int RESET = 3;
  private static final int SETTINGS = 4;
  private static final int PING = 6;
  private static final int GOAWAY = 7;
  private static final int WINDOW_UPDATE = 8;
  private static final int ACK = 1;
  private static final int END_STREAM = 1;
  private static final int END_HEADERS = 4;
  private static final int FRAME_HEADER = 9;
  private static final int GRPC_PREFIX = 5;
  private static final String GRPC_UNAVAILABLE = "14";
  private static final int OPENING_WINDOW = 1 << 24;
  private static final String PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  private static final String GRPC_PATH =
      "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

  private final Wire wire;
  private final boolean grpc;
  private final Keys keys;
  private final DefaultHttp2HeadersEncoder encoder = new DefaultHttp2HeadersEncoder();
  private final DefaultHttp2HeadersDecoder decoder = new DefaultHttp2HeadersDecoder(false);
  private int nextStream = 1;
  private int lastStream = Integer.MAX_VALUE;
  private boolean goodbye;

  Http2Client(Wire wire, boolean grpc, Keys keys) throws IOException {
    this.wire = wire;
    this.grpc = grpc;
    this.keys = keys;
    wire.write(Wire.ascii(PREFACE));
    send(SETTINGS, 0, 0, new byte[0]);
    send(WINDOW_UPDATE, 0, 0, number(OPENING_WINDOW));
  }

  /** An answer as it arrives. */
  private static final class Response {
    private final Http2Headers headers = new DefaultHttp2Headers(false);
    private final ByteArrayOutputStream body = new ByteArrayOutputStream();
    private boolean ended;

    int status() {
      return Integer.parseInt(String.valueOf(headers.status()));
    }

    String text() {
      return body.toString(StandardCharsets.UTF_8);
    }
  }

  @Override
  public Answers ask(String id, int requests) throws IOException {
    Map<Integer, Response> open = new LinkedHashMap<>();
    for (int i = 0; i < requests; i++) {
      open.put(nextStream, new Response());
      request(
          nextStream, "/v1/spend", keys.load(), grpc ? call(Door.LIMIT, List.of(id), 1) : body(id));
      nextStream += 2;
    }
    Answers all = Answers.none();
    while (open.keySet().removeIf(stream -> stream > lastStream) || !open.isEmpty()) {
      if (open.isEmpty()) {
        break;
      }
      int stream = frame(open);
      Response response = open.get(stream);
      if (response != null && response.ended) {
        open.remove(stream);
        all = all.plus(Answers.of(isAllowed(response)));
      }
    }
    return all.plus(Answers.ending(goodbye));
  }

  @Override
  public Set<Act> acts() {
    return grpc ? EnumSet.of(Act.SPEND, Act.BATCH) : EnumSet.allOf(Act.class);
  }

  @Override
  public Outcome act(Act act, List<String> ids, int cost) throws IOException {
    if (grpc) {
      return outcome(one("", keys.load(), call(Ledger.LIMIT, ids, cost)));
    }
    String token = act == Act.REFUND ? keys.operator() : keys.load();
    Response answer = one(JsonActs.path(act), token, Wire.ascii(JsonActs.body(act, ids, cost)));
    Outcome outcome = JsonActs.outcome(act, answer.status(), answer.text());
    if (act != Act.RESERVE || !outcome.allowed()) {
      return outcome;
    }
    Response cancelled = one(JsonActs.cancelling(answer.text()), token, new byte[0]);
    return JsonActs.cancelled(outcome, cancelled.status(), cancelled.text());
  }

  /** Sends a request beside which there is no other, and after which there are to be more. */
  private Response one(String path, String token, byte[] body) throws IOException {
    int stream = nextStream;
    nextStream += 2;
    request(stream, path, token, body);
    Response response = new Response();
    while (!response.ended) {
      int unused = frame(Map.of(stream, response));
    }
    if (goodbye) {
      throw new IOException("the connection ends");
    }
    return response;
  }

  private static Outcome outcome(Response answer) throws IOException {
    String status = String.valueOf(answer.headers.get("grpc-status"));
    if (status.equals(GRPC_UNAVAILABLE)) {
      return Outcome.undecided();
    }
    RateLimitResponse response = message(answer);
    return new Outcome(
        response.getOverallCode() == RateLimitResponse.Code.OK,
        response.getStatusesList().stream().map(one -> (long) one.getLimitRemaining()).toList());
  }

  private void request(int stream, String path, String token, byte[] body) throws IOException {
    Http2Headers headers =
        new DefaultHttp2Headers()
            .method("POST")
            .scheme("https")
            .authority("localhost")
            .path(grpc ? GRPC_PATH : path)
            .add("content-type", grpc ? "application/grpc" : "application/json");
    if (!token.isEmpty()) {
      headers.add("sluice-token", token);
    }
    if (grpc) {
      headers.add("te", "trailers");
    }
    ByteBuf block = Unpooled.buffer();
    try {
      encoder.encodeHeaders(stream, headers, block);
    } catch (Http2Exception e) {
      throw new IOException(e);
    }
    send(HEADERS, END_HEADERS, stream, ByteBufUtil.getBytes(block));
    send(DATA, END_STREAM, stream, body);
  }

  private static byte[] body(String id) {
    return Wire.ascii("{\"limit\":\"%s\",\"id\":\"%s\"}".formatted(Door.LIMIT, id));
  }

  private static byte[] call(String limit, List<String> ids, int cost) {
    RateLimitRequest.Builder request =
        RateLimitRequest.newBuilder().setDomain("edge").setHitsAddend(cost);
    for (String id : ids) {
      request.addDescriptors(
          RateLimitDescriptor.newBuilder()
              .addEntries(Entry.newBuilder().setKey(limit).setValue(id)));
    }
    byte[] message = request.build().toByteArray();
    return ByteBuffer.allocate(GRPC_PREFIX + message.length)
        .put((byte) 0)
        .putInt(message.length)
        .put(message)
        .array();
  }

  /** Reads a frame, and returns its stream. */
  private int frame(Map<Integer, Response> open) throws IOException {
    ByteBuffer head = ByteBuffer.wrap(wire.read(FRAME_HEADER));
    int length = (head.getShort() & 0xffff) << Byte.SIZE | (head.get() & 0xff);
    int type = head.get();
    int flags = head.get();
    int stream = head.getInt();
    byte[] payload = wire.read(length);
    Response response = open.get(stream);
    switch (type) {
      case HEADERS -> add(stream, payload, response);
      case DATA -> {
        if (length > 0) {
          send(WINDOW_UPDATE, 0, 0, number(length));
        }
        if (response != null) {
          response.body.writeBytes(payload);
        }
      }
      case RESET -> throw new IOException("a request was reset with " + error(payload));
      case SETTINGS -> acknowledge(SETTINGS, flags, new byte[0]);
      case PING -> acknowledge(PING, flags, payload);
      case GOAWAY -> {
        goodbye = true;
        lastStream = ByteBuffer.wrap(payload).getInt();
      }
      default -> {} // windows of requests this small do not fill
    }
    boolean carries = type == HEADERS || type == DATA;
    if (response != null && carries && (flags & END_STREAM) != 0) {
      response.ended = true;
    }
    return stream;
  }

  /** Every block is decoded, also that of a forgotten stream: the table needs it. */
  private void add(int stream, byte[] payload, @Nullable Response response) throws IOException {
    try {
      Http2Headers headers = decoder.decodeHeaders(stream, Unpooled.wrappedBuffer(payload));
      if (response != null) {
        response.headers.add(headers);
      }
    } catch (Http2Exception e) {
      throw new IOException(e);
    }
  }

  private void acknowledge(int type, int flags, byte[] payload) throws IOException {
    if ((flags & ACK) == 0) {
      send(type, ACK, 0, payload);
    }
  }

  private boolean isAllowed(Response response) throws IOException {
    if (response.status() != 200) {
      throw new IOException("answered " + response.status() + " " + response.text());
    }
    return grpc
        ? message(response).getOverallCode() == RateLimitResponse.Code.OK
        : response.text().contains("\"allowed\":true");
  }

  private static RateLimitResponse message(Response response) throws IOException {
    CharSequence status = response.headers.get("grpc-status");
    if (status == null || !"0".contentEquals(status)) {
      throw new IOException("a call ended with status " + status);
    }
    byte[] body = response.body.toByteArray();
    return RateLimitResponse.parseFrom(
        ByteBuffer.wrap(body, GRPC_PREFIX, body.length - GRPC_PREFIX));
  }

  private static int error(byte[] payload) {
    return ByteBuffer.wrap(payload).getInt();
  }

  private static byte[] number(int value) {
    return ByteBuffer.allocate(Integer.BYTES).putInt(value).array();
  }

  private void send(int type, int flags, int stream, byte[] payload) throws IOException {
    wire.write(
        ByteBuffer.allocate(FRAME_HEADER + payload.length)
            .put((byte) (payload.length >>> 16))
            .putShort((short) payload.length)
            .put((byte) type)
            .put((byte) flags)
            .putInt(stream)
            .put(payload)
            .array());
  }

  @Override
  public void close() throws IOException {
    wire.close();
  }
}
