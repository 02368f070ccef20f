// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.production;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** Keep-alive over HTTP/1.1, one request at a time. Its goodbye is {@code Connection: close}. */
final class Http1Client implements Client {

  private static final String ALLOWED = "\"allowed\":true";
  private static final String DENIED = "\"allowed\":false";
  private static final int HEX = 16;

  private final Wire wire;
  private final Kind kind;

  Http1Client(Wire wire, Kind kind) {
    this.wire = wire;
    this.kind = kind;
  }

  /** What is asked. */
  enum Kind {
    SPEND,
    STREAM,
    FORWARD_AUTH
  }

  private record Response(int status, String body, boolean closes) {}

  @Override
  public Answers ask(String id, int requests) throws IOException {
    Answers all = Answers.none();
    if (kind == Kind.STREAM) {
      return stream(id, requests);
    }
    for (int i = 0; i < requests && !all.goodbye(); i++) {
      String spend = "{\"limit\":\"%s\",\"id\":\"%s\"}".formatted(Door.LIMIT, id);
      wire.write(
          kind == Kind.SPEND
              ? post("/v1/spend", "application/json", spend)
              : get("/v1/forward-auth?limit=%s&id=%s".formatted(Door.LIMIT, id)));
      Response answer = read();
      all = all.plus(answers(answer)).plus(Answers.ending(answer.closes()));
    }
    return all;
  }

  private Answers stream(String id, int requests) throws IOException {
    String line = "{\"op\":\"spend\",\"limit\":\"%s\",\"id\":\"%s\"}\n".formatted(Door.LIMIT, id);
    wire.write(post("/v1/decisions", "application/x-ndjson", line.repeat(requests)));
    Response answer = read();
    int allowed = answer.body().split(ALLOWED, -1).length - 1;
    int denied = answer.body().split(DENIED, -1).length - 1;
    if (answer.status() != 200 || allowed + denied != requests) {
      throw new IOException("%s lines were answered %s".formatted(requests, answer));
    }
    return new Answers(allowed, denied, 0, 0, answer.closes());
  }

  private Answers answers(Response answer) throws IOException {
    if (kind == Kind.FORWARD_AUTH) {
      return switch (answer.status()) {
        case 200 -> Answers.of(true);
        case 429 -> Answers.of(false);
        case 503 -> new Answers(0, 0, 1, 0, false);
        default -> throw new IOException("answered " + answer);
      };
    }
    boolean allowed = answer.body().contains(ALLOWED);
    if (answer.status() != 200 || (!allowed && !answer.body().contains(DENIED))) {
      throw new IOException("answered " + answer);
    }
    return Answers.of(allowed);
  }

  private static byte[] get(String path) {
    return Wire.ascii("GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n".formatted(path));
  }

  private static byte[] post(String path, String type, String body) {
    return Wire.ascii(
        "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %s\r\n\r\n%s"
            .formatted(path, type, body.length(), body));
  }

  private String line() throws IOException {
    String line = wire.line();
    if (line == null) {
      throw new EOFException("closed without an answer");
    }
    return line;
  }

  private Response read() throws IOException {
    int status = Integer.parseInt(line().split(" ", -1)[1]);
    int length = 0;
    boolean chunked = false;
    boolean closes = false;
    for (String header = line(); !header.isEmpty(); header = line()) {
      String lower = header.toLowerCase(Locale.ROOT);
      if (lower.startsWith("content-length:")) {
        length = Integer.parseInt(lower.substring("content-length:".length()).strip());
      }
      chunked |= lower.startsWith("transfer-encoding:") && lower.contains("chunked");
      closes |= lower.startsWith("connection:") && lower.contains("close");
    }
    byte[] body = chunked ? chunks() : wire.read(length);
    return new Response(status, new String(body, StandardCharsets.UTF_8), closes);
  }

  private byte[] chunks() throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (int length = Integer.parseInt(line(), HEX);
        length > 0;
        length = Integer.parseInt(line(), HEX)) {
      all.writeBytes(wire.read(length));
      String unused = line();
    }
    String unused = line();
    return all.toByteArray();
  }

  @Override
  public void close() throws IOException {
    wire.close();
  }
}
