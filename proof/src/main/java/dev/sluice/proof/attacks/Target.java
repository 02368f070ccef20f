// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import dev.sluice.envoy.RateLimitDescriptor;
import dev.sluice.envoy.RateLimitDescriptor.Entry;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.proof.Connection;
import dev.sluice.proof.Door;
import dev.sluice.proof.Http2Frames;
import dev.sluice.proof.HttpAnswer;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersDecoder;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** A protocol under attack, with valid and invalid requests. */
enum Target {
  HTTP("HTTP", Door.HTTP) {
    @Override
    byte[] request() {
      return post(
          "/v1/spend", "{\"limit\":\"LoginsPerIPAddress\",\"id\":\"127.0.0.1\",\"cost\":0}");
    }

    @Override
    List<byte[]> samples() {
      return List.of(
          request(),
          post(
              "/v1/decisions",
              "{\"act\":\"spend\",\"limit\":\"LoginsPerIPAddress\",\"id\":\"x\"}\n"),
          post(
              "/json",
              "{\"domain\":\"d\",\"hitsAddend\":1,\"descriptors\":[{\"entries\":[{\"key\":\"k\"}]}]}"),
          post("/v1/reservations", "{\"limit\":\"LoginsPerIPAddress\",\"id\":\"192.0.2.1\"}"),
          Connection.ascii("GET /v1/limits HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    }

    @Override
    Map<String, byte[]> tooDeep() {
      String deep = "[".repeat(100_000);
      return Map.of(
          "/v1/spend", post("/v1/spend", deep),
          "/v1/decisions", post("/v1/decisions", deep + "\n"),
          "/json", post("/json", "{\"descriptors\":" + deep));
    }

    @Override
    Map<String, byte[]> tooLong() {
      return Map.of(
          "a request whose body has 1 TB", Attack.head("1000000000000"),
          "a request whose Content-Length exceeds 64 bits", Attack.head("99999999999999999999"),
          "a request with a chunk of 2^62 bytes",
              Connection.ascii(
                  lines(
                      "POST /v1/spend HTTP/1.1",
                      "Host: localhost",
                      "Transfer-Encoding: chunked",
                      "",
                      "4000000000000000")));
    }

    @Override
    boolean isError(String answer) {
      return answer.startsWith("HTTP/1.1 4");
    }
  },

  FORWARD_AUTH("forward-auth", Door.FORWARD_AUTH) {
    @Override
    byte[] request() {
      return get("?limit=LoginsPerIPAddress&id=127.0.0.1&cost=0", "");
    }

    @Override
    List<byte[]> samples() {
      return List.of(
          request(),
          get("?limit=LoginsPerIPAddress&key=ip&dry=true&deny=403", "RateLimit-Id: 192.0.2.1\r\n"),
          get("/path/behind?x=1", "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /a?b=c\r\n"));
    }

    @Override
    Map<String, byte[]> tooDeep() {
      return Map.of(
          "a request with 1,000 parameters",
              get("?" + "limit=LoginsPerIPAddress&id=1&".repeat(500), ""),
          "a request with nested escapes", get("?limit=%25252525" + "25".repeat(2_000), ""));
    }

    @Override
    Map<String, byte[]> tooLong() {
      return Map.of(
          "a request with a line of 20 KB", get("?id=" + "x".repeat(20_000), ""),
          "a request with headers of 40 KB", get("", "X: " + "x".repeat(40_000) + "\r\n"));
    }

    @Override
    boolean isError(String answer) {
      return answer.startsWith("HTTP/1.1 4");
    }
  },

  RESP("Redis protocol", Door.RESP) {
    @Override
    byte[] request() {
      return Connection.ascii("SLUICE.CHECK LoginsPerIPAddress 127.0.0.1 1\r\n");
    }

    @Override
    List<byte[]> samples() {
      return List.of(
          request(),
          Connection.ascii(
              "*5\r\n$11\r\nCL.THROTTLE\r\n$1\r\nk\r\n$2\r\n99\r\n$1\r\n1\r\n$1\r\n1\r\n"),
          Connection.ascii("*3\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$7\r\nSETNAME\r\n"),
          Connection.ascii("SLUICE.BATCH SPEND LoginsPerIPAddress 192.0.2.1 1 checkAndSpend\r\n"),
          Connection.ascii("CL.THROTTLE \"a\\x00b\" 9223372036854775806 1 1 0\r\n"));
    }

    @Override
    Map<String, byte[]> tooDeep() {
      return Map.of("a command of nested arrays", Connection.ascii("*1\r\n".repeat(10_000)));
    }

    @Override
    Map<String, byte[]> tooLong() {
      return Map.of(
          "a command with a billion arguments", Connection.ascii("*1000000000\r\n"),
          "a command with an argument of 8 GB",
              Connection.ascii("*2\r\n$4\r\nECHO\r\n$8589934592\r\n"),
          "a line that never ends", Connection.ascii("x".repeat(70_000)));
    }

    @Override
    boolean isError(String answer) {
      return answer.startsWith("-ERR Protocol error");
    }

    @Override
    void readAnswer(Connection from) throws IOException {
      String head = from.line();
      if (!head.startsWith("*")) {
        throw new IOException("unexpected reply: " + head);
      }
      // The number of names and values in the reply to SLUICE.CHECK. A later server version can add
      // names and values to the reply to SLUICE.CHECK.
      int parts = Integer.parseInt(head.substring(1));
      for (int i = 0; i < parts; i++) {
        String part = from.line();
        if (part.startsWith("$") && !part.equals("$-1")) {
          String unused = from.line();
        }
      }
    }

    /** Checks the reply types of RESP2 and RESP3. Skips the content of bulk strings. */
    @Override
    String foreign(byte[] answer) {
      int at = 0;
      while (at < answer.length) {
        int end = at;
        while (end < answer.length && answer[end] != '\n') {
          end++;
        }
        String line = new String(answer, at, end - at, StandardCharsets.US_ASCII).strip();
        if (line.isEmpty() || "+-:$*%#_,".indexOf(line.charAt(0)) < 0) {
          return "this line is not a reply: " + line;
        }
        if (line.startsWith("-INTERNAL")) {
          return line;
        }
        at = end + 1;
        if (line.charAt(0) == '$' && line.length() > 1 && line.charAt(1) != '-') {
          at += Integer.parseInt(line.substring(1)) + 2;
        }
      }
      return "";
    }
  },

  GRPC("gRPC", Door.GRPC) {
    @Override
    byte[] request() {
      return call(RATE_LIMIT, Http2Frames.grpcMessage(MESSAGE.length, MESSAGE));
    }

    @Override
    List<byte[]> samples() {
      return List.of(
          request(),
          call("/grpc.health.v1.Health/Check", Http2Frames.grpcMessage(0, new byte[0])),
          Http2Frames.joined(Http2Frames.greeting(1), Http2Frames.get(1, "/healthz")),
          Connection.ascii("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    }

    @Override
    Map<String, byte[]> tooDeep() {
      byte[] groups = new byte[60_000];
      // Each byte begins a protobuf group with an unknown field number, inside the group of the
      // previous byte.
      Arrays.fill(groups, (byte) 0x1b);
      return Map.of(
          "a message of nested groups",
          call(RATE_LIMIT, Http2Frames.grpcMessage(groups.length, groups)));
    }

    @Override
    Map<String, byte[]> tooLong() {
      return Map.of(
          "a call with a message of 4 GB",
              call(RATE_LIMIT, Http2Frames.grpcMessage(-1, new byte[10])),
          "a call with a frame of 16 MB",
              Http2Frames.joined(
                  Http2Frames.greeting(Http2Frames.DEFAULT_WINDOW),
                  new byte[] {-1, -1, -1, Http2Frames.DATA, 0, 0, 0, 0, 1}));
    }

    /** Skips the settings frame, which a server sends before its response. */
    @Override
    boolean isWhole(byte[] answer, int length) {
      return GrpcAnswer.of(answer, length).ended();
    }

    @Override
    boolean isError(String answer) {
      byte[] bytes = answer.getBytes(StandardCharsets.ISO_8859_1);
      return GrpcAnswer.of(bytes, bytes.length).isError();
    }

    @Override
    boolean keepsConnection() {
      return false;
    }

    @Override
    void readAnswer(Connection from) throws IOException {
      boolean data = false;
      while (true) {
        byte[] header = from.read(Http2Frames.FRAME_HEADER);
        int length = ByteBuffer.wrap(header).getInt() >>> 8;
        byte[] unused = from.read(length);
        data |= header[3] == Http2Frames.DATA && length > 0;
        if (header[8] == 1 && (header[4] & Http2Frames.END_STREAM) != 0) {
          if (!data) {
            throw new IOException("the server returned an error instead of a decision");
          }
          return;
        }
      }
    }
  };

  private static final String RATE_LIMIT =
      "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
  private static final byte[] MESSAGE =
      RateLimitRequest.newBuilder()
          .setDomain("d")
          .addDescriptors(
              RateLimitDescriptor.newBuilder()
                  .addEntries(
                      Entry.newBuilder().setKey("LoginsPerIPAddress").setValue("127.0.0.1")))
          .build()
          .toByteArray();
  private static final int LARGEST_FRAME_TYPE = 0x10;
  private static final int LONGEST_FRAME = 1 << 20;

  private final String text;
  private final Door door;

  Target(String text, Door door) {
    this.text = text;
    this.door = door;
  }

  String text() {
    return text;
  }

  Door door() {
    return door;
  }

  /** Returns a valid request that spends nothing. */
  abstract byte[] request();

  /** Returns valid requests, which the fuzzer changes at random. */
  abstract List<byte[]> samples();

  /** Returns requests whose content is nested too deeply; the map's keys describe the requests. */
  abstract Map<String, byte[]> tooDeep();

  /**
   * Returns requests that are too long, or that declare a length that is too long; the map's keys
   * describe the requests.
   */
  abstract Map<String, byte[]> tooLong();

  /**
   * Returns whether enough was read of the response to a request that is nested too deeply or too
   * long.
   */
  boolean isWhole(byte[] answer, int length) {
    return length > 0;
  }

  /**
   * Returns whether a response is an error of this protocol. The server must reply with an error if
   * a request is nested too deeply or too long.
   */
  abstract boolean isError(String answer);

  /** Returns whether a connection of this protocol can carry more than one request. */
  boolean keepsConnection() {
    return true;
  }

  /**
   * Reads the response to {@link #request}. Throws an {@link IOException} if the response is not a
   * decision.
   */
  void readAnswer(Connection from) throws IOException {
    HttpAnswer answer = HttpAnswer.read(from);
    if (answer.status() != 200) {
      throw new IOException("unexpected response: " + answer);
    }
  }

  /**
   * Returns the part of a response that belongs to another protocol or reports an internal fault;
   * empty if there is no such part.
   */
  String foreign(byte[] answer) {
    String start = new String(answer, 0, Math.min(answer.length, 16), StandardCharsets.US_ASCII);
    if (answer.length == 0 || start.startsWith("HTTP/1.1 ")) {
      return start.startsWith("HTTP/1.1 500") ? start : "";
    }
    for (int at = 0; at + Http2Frames.FRAME_HEADER <= answer.length; ) {
      int length = ByteBuffer.wrap(answer, at, 4).getInt() >>> 8;
      if (answer[at + 3] < 0 || answer[at + 3] > LARGEST_FRAME_TYPE || length > LONGEST_FRAME) {
        return "the response is neither HTTP/1.1 nor an HTTP/2 frame: " + start;
      }
      at += Http2Frames.FRAME_HEADER + length;
    }
    return "";
  }

  private static String lines(String... lines) {
    return String.join("\r\n", lines) + "\r\n";
  }

  private static byte[] post(String path, String body) {
    return Connection.ascii(
        "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %s\r\n\r\n%s"
            .formatted(path, body.length(), body));
  }

  private static byte[] get(String behind, String headers) {
    return Connection.ascii(
        "GET /v1/forward-auth%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n".formatted(behind, headers));
  }

  /** Returns the bytes that a new HTTP/2 connection sends for one gRPC call. */
  private static byte[] call(String path, byte[] message) {
    byte[][] frames = new byte[message.length / Http2Frames.LARGEST_FRAME + 3][];
    frames[0] = Http2Frames.greeting(Http2Frames.DEFAULT_WINDOW);
    frames[1] = Http2Frames.post(1, path, "application/grpc");
    for (int i = 2; i < frames.length; i++) {
      int from = (i - 2) * Http2Frames.LARGEST_FRAME;
      int to = Math.min(from + Http2Frames.LARGEST_FRAME, message.length);
      int flags = i == frames.length - 1 ? Http2Frames.END_STREAM : 0;
      byte[] part = Arrays.copyOfRange(message, from, to);
      frames[i] = Http2Frames.frame(Http2Frames.DATA, flags, 1, part);
    }
    return Http2Frames.joined(frames);
  }

  /**
   * The response to the first gRPC call of an HTTP/2 connection, as far as it has arrived.
   *
   * @param ended whether the stream or the connection has ended
   * @param status the {@code grpc-status} of the call; empty if it has not arrived
   * @param reason the error code of a GOAWAY frame; 0 if no such frame has arrived
   */
  private record GrpcAnswer(boolean ended, String status, int reason) {

    private static final int STREAM = 1;

    /** Parses all complete frames. Ignores an incomplete last frame. */
    static GrpcAnswer of(byte[] answer, int length) {
      Http2HeadersDecoder decoder = new DefaultHttp2HeadersDecoder();
      String status = "";
      int at = 0;
      while (at + Http2Frames.FRAME_HEADER <= length) {
        ByteBuffer header = ByteBuffer.wrap(answer, at, Http2Frames.FRAME_HEADER);
        int size = header.getInt() >>> 8;
        int type = answer[at + 3];
        int flags = header.get();
        boolean isCalls = header.getInt() == STREAM;
        int payload = at + Http2Frames.FRAME_HEADER;
        at = payload + size;
        if (at > length) {
          break;
        }
        if (type == Http2Frames.GOAWAY && size >= 2 * Integer.BYTES) {
          int reason = ByteBuffer.wrap(answer, payload + Integer.BYTES, Integer.BYTES).getInt();
          return new GrpcAnswer(true, status, reason);
        }
        if (type == Http2Frames.HEADERS && isCalls) {
          status = status(answer, payload, size, decoder, status);
        }
        boolean canEnd = type == Http2Frames.HEADERS || type == Http2Frames.DATA;
        if (canEnd && isCalls && (flags & Http2Frames.END_STREAM) != 0) {
          return new GrpcAnswer(true, status, 0);
        }
      }
      return new GrpcAnswer(false, status, 0);
    }

    private static String status(
        byte[] answer, int start, int size, Http2HeadersDecoder decoder, String before) {
      try {
        Http2Headers headers =
            decoder.decodeHeaders(STREAM, Unpooled.wrappedBuffer(answer, start, size));
        CharSequence status = headers.get("grpc-status");
        return status == null ? before : status.toString();
      } catch (Http2Exception e) {
        return before; // the headers cannot be decoded, so they contain no status
      }
    }

    /**
     * Returns whether the server rejected the call, with an error status or with the error code of
     * a GOAWAY frame.
     */
    boolean isError() {
      return reason != 0 || (ended && !status.isEmpty() && !status.equals("0"));
    }
  }
}
