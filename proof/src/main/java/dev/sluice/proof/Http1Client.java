// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import java.io.IOException;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An HTTP/1.1 client that sends one request at a time on a keep-alive connection. The server
 * announces the close with the header {@code Connection: close}.
 */
final class Http1Client extends JsonClient {

  private static final String JSON = "application/json";
  private static final String NDJSON = "application/x-ndjson";
  private static final Pattern LEFT = Pattern.compile(";r=(\\d+)");

  private final Connection connection;
  private final Kind kind;

  Http1Client(Connection connection, Kind kind, Keys keys) {
    super(keys);
    this.connection = connection;
    this.kind = kind;
  }

  /** The kind of request that the client sends. */
  enum Kind {
    SPEND,
    STREAM,
    FORWARD_AUTH
  }

  @Override
  public Answers ask(String id, int requests) throws IOException {
    if (kind == Kind.STREAM) {
      String line = "{\"op\":\"spend\",\"limit\":\"%s\",\"id\":\"%s\"}\n".formatted(Door.LIMIT, id);
      HttpAnswer answer = post("/v1/decisions", NDJSON, line.repeat(requests), keys.load());
      return answers(answer, requests).ending(answer.closes());
    }
    Answers all = Answers.NONE;
    for (int i = 0; i < requests && !all.goodbye(); i++) {
      HttpAnswer answer =
          kind == Kind.SPEND
              ? post("/v1/spend", JSON, spend(id), keys.load())
              : forwardAuth("limit=%s&id=%s".formatted(Door.LIMIT, id));
      Answers one = kind == Kind.SPEND ? answers(answer) : passed(answer);
      all = all.plus(one).ending(answer.closes());
    }
    return all;
  }

  private static Answers passed(HttpAnswer answer) throws IOException {
    return switch (answer.status()) {
      case 200 -> Answers.of(true);
      case 429 -> Answers.of(false);
      case 503 -> Answers.UNDECIDED;
      default -> throw new IOException("unexpected response: " + answer);
    };
  }

  @Override
  public Set<Act> acts() {
    return switch (kind) {
      case SPEND -> super.acts();
      case STREAM -> EnumSet.complementOf(EnumSet.of(Act.RESERVE));
      case FORWARD_AUTH -> EnumSet.of(Act.SPEND);
    };
  }

  @Override
  public Outcome act(Act act, List<String> ids, int cost) throws IOException {
    if (kind == Kind.SPEND) {
      return super.act(act, ids, cost);
    }
    if (kind == Kind.STREAM) {
      String token = act == Act.REFUND ? keys.operator() : keys.load();
      return outcome(act, open(post("/v1/decisions", NDJSON, line(act, ids, cost), token)));
    }
    String query = "limit=%s&id=%s&cost=%s".formatted(Act.LIMIT, ids.get(0), cost);
    HttpAnswer answer = open(forwardAuth(query));
    Matcher left = LEFT.matcher(answer.header("ratelimit"));
    return passed(answer).allowed() == 1 && left.find()
        ? new Outcome(true, List.of(Long.parseLong(left.group(1))))
        : Outcome.UNDECIDED;
  }

  @Override
  HttpAnswer post(String path, String body, String token) throws IOException {
    return open(post(path, JSON, body, token));
  }

  /**
   * Returns the response. Throws if the response announces that the server closes the connection.
   */
  private static HttpAnswer open(HttpAnswer answer) throws IOException {
    if (answer.closes()) {
      throw new IOException("the server closes the connection after the response " + answer);
    }
    return answer;
  }

  private HttpAnswer post(String path, String type, String body, String token) throws IOException {
    return ask(
        "POST %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Type: %s\r\nContent-Length: %s\r\n\r\n%s"
            .formatted(path, shown(token), type, body.length(), body));
  }

  private HttpAnswer forwardAuth(String query) throws IOException {
    return ask(
        "GET /v1/forward-auth?%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n"
            .formatted(query, shown(keys.load())));
  }

  private HttpAnswer ask(String request) throws IOException {
    connection.write(request);
    return HttpAnswer.read(connection);
  }

  private static String shown(String token) {
    return token.isEmpty() ? "" : "Sluice-Token: " + token + "\r\n";
  }

  @Override
  public void close() throws IOException {
    connection.close();
  }
}
