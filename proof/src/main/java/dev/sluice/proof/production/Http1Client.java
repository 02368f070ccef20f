// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Keep-alive over HTTP/1.1, one request at a time. Its goodbye is {@code Connection: close}. */
final class Http1Client implements Client {

  private static final String ALLOWED = "\"allowed\":true";
  private static final String DENIED = "\"allowed\":false";
  private static final int HEX = 16;
  private static final String JSON = "application/json";
  private static final String NDJSON = "application/x-ndjson";
  private static final Pattern LEFT = Pattern.compile(";r=(\\d+)");

  private final Wire wire;
  private final Kind kind;

  private final Keys keys;

  Http1Client(Wire wire, Kind kind, Keys keys) {
    this.wire = wire;
    this.kind = kind;
    this.keys = keys;
  }

  /** What is asked. */
  enum Kind {
    SPEND,
    STREAM,
    FORWARD_AUTH
  }

  /**
   * An answer.
   *
   * @param rateLimit the header RateLimit, empty where there is none
   */
  private record Response(int status, String rateLimit, String body, boolean closes) {}

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
              ? post("/v1/spend", JSON, spend, keys.load())
              : get("/v1/forward-auth?limit=%s&id=%s".formatted(Door.LIMIT, id)));
      Response answer = read();
      all = all.plus(answers(answer)).plus(Answers.ending(answer.closes()));
    }
    return all;
  }

  private Answers stream(String id, int requests) throws IOException {
    String line = "{\"op\":\"spend\",\"limit\":\"%s\",\"id\":\"%s\"}\n".formatted(Door.LIMIT, id);
    wire.write(post("/v1/decisions", NDJSON, line.repeat(requests), keys.load()));
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

  @Override
  public Set<Act> acts() {
    return switch (kind) {
      case SPEND -> EnumSet.allOf(Act.class);
      case STREAM -> EnumSet.complementOf(EnumSet.of(Act.RESERVE));
      case FORWARD_AUTH -> EnumSet.of(Act.SPEND);
    };
  }

  @Override
  public Outcome act(Act act, List<String> ids, int cost) throws IOException {
    String token = act == Act.REFUND ? keys.operator() : keys.load();
    switch (kind) {
      case STREAM ->
          wire.write(post("/v1/decisions", NDJSON, JsonActs.line(act, ids, cost), token));
      case SPEND ->
          wire.write(post(JsonActs.path(act), JSON, JsonActs.body(act, ids, cost), token));
      case FORWARD_AUTH ->
          wire.write(
              get(
                  "/v1/forward-auth?limit=%s&id=%s&cost=%s"
                      .formatted(Ledger.LIMIT, ids.get(0), cost)));
    }
    Response answer = readOfMany();
    if (kind == Kind.FORWARD_AUTH) {
      Matcher left = LEFT.matcher(answer.rateLimit());
      return answers(answer).allowed() == 1 && left.find()
          ? new Outcome(true, List.of(Long.parseLong(left.group(1))))
          : Outcome.undecided();
    }
    boolean unavailable = kind == Kind.STREAM && answer.body().contains("\"status\":503");
    Outcome outcome = JsonActs.outcome(act, unavailable ? 503 : answer.status(), answer.body());
    if (act != Act.RESERVE || !outcome.allowed()) {
      return outcome;
    }
    wire.write(post(JsonActs.cancelling(answer.body()), JSON, "", token));
    Response cancelled = readOfMany();
    return JsonActs.cancelled(outcome, cancelled.status(), cancelled.body());
  }

  /** An answer after which there are to be more. */
  private Response readOfMany() throws IOException {
    Response answer = read();
    if (answer.closes()) {
      throw new IOException("the connection ends with " + answer);
    }
    return answer;
  }

  private byte[] get(String path) {
    return Wire.ascii(
        "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n".formatted(path, shown(keys.load())));
  }

  private static byte[] post(String path, String type, String body, String token) {
    return Wire.ascii(
        "POST %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Type: %s\r\nContent-Length: %s\r\n\r\n%s"
            .formatted(path, shown(token), type, body.length(), body));
  }

  private static String shown(String token) {
    return token.isEmpty() ? "" : "Sluice-Token: " + token + "\r\n";
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
    String rateLimit = "";
    boolean chunked = false;
    boolean closes = false;
    for (String header = line(); !header.isEmpty(); header = line()) {
      String lower = header.toLowerCase(Locale.ROOT);
      if (lower.startsWith("content-length:")) {
        length = Integer.parseInt(lower.substring("content-length:".length()).strip());
      }
      if (lower.startsWith("ratelimit:")) {
        rateLimit = lower;
      }
      chunked |= lower.startsWith("transfer-encoding:") && lower.contains("chunked");
      closes |= lower.startsWith("connection:") && lower.contains("close");
    }
    byte[] body = chunked ? chunks() : wire.read(length);
    return new Response(status, rateLimit, new String(body, StandardCharsets.UTF_8), closes);
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
