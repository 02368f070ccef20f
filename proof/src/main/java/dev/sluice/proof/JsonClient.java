// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** A client that uses the JSON API of the server, over any version of HTTP. */
abstract class JsonClient implements Client {

  private static final String ALLOWED = "\"allowed\":true";
  private static final String DENIED = "\"allowed\":false";
  private static final Pattern REMAINING = Pattern.compile("\"remaining\":(\\d+)");
  private static final Pattern TOKEN = Pattern.compile("\"token\":\"([^\"]+)\"");

  final Keys keys;

  JsonClient(Keys keys) {
    this.keys = keys;
  }

  /** Sends a request and reads its response. Throws if the connection closes after the response. */
  abstract HttpAnswer post(String path, String body, String token) throws IOException;

  static String spend(String id) {
    return "{\"limit\":\"%s\",\"id\":\"%s\"}".formatted(Door.LIMIT, id);
  }

  static Answers answers(HttpAnswer answer) throws IOException {
    boolean allowed = answer.body().contains(ALLOWED);
    if (answer.status() != 200 || (!allowed && !answer.body().contains(DENIED))) {
      throw new IOException("unexpected response: " + answer);
    }
    return Answers.of(allowed);
  }

  /**
   * Counts the allowed and denied spends in the response to a stream of spends. The response has
   * one line per spend.
   */
  static Answers answers(HttpAnswer answer, int lines) throws IOException {
    int allowed = answer.body().split(ALLOWED, -1).length - 1;
    int denied = answer.body().split(DENIED, -1).length - 1;
    if (answer.status() != 200 || allowed + denied != lines) {
      throw new IOException("unexpected response to %s spends: %s".formatted(lines, answer));
    }
    return new Answers(allowed, denied, 0, 0, false);
  }

  @Override
  public Set<Act> acts() {
    return EnumSet.allOf(Act.class);
  }

  @Override
  public Outcome act(Act act, List<String> ids, int cost) throws IOException {
    String path =
        switch (act) {
          case SPEND, BATCH -> "/v1/spend";
          case CHECK, REFUND -> "/v1/" + act.name().toLowerCase(Locale.ROOT);
          case RESERVE -> "/v1/reservations";
        };
    String token = act == Act.REFUND ? keys.operator() : keys.load();
    HttpAnswer answer = post(path, "{" + fields(act, ids, cost) + "}", token);
    Outcome outcome = outcome(act, answer);
    if (act != Act.RESERVE || !outcome.allowed()) {
      return outcome;
    }
    Matcher reservation = TOKEN.matcher(answer.body());
    if (!reservation.find()) {
      throw new IOException("a reservation returned no token: " + answer);
    }
    HttpAnswer cancelled =
        post("/v1/reservations/%s/cancel".formatted(reservation.group(1)), "", token);
    if (cancelled.status() == 503) {
      return Outcome.UNDECIDED;
    }
    if (cancelled.status() != 200 || !cancelled.body().contains("\"cancelled\":true")) {
      throw new IOException("unexpected response to a cancellation: " + cancelled);
    }
    return outcome;
  }

  /**
   * Encodes an operation as one JSON line of a streaming request. Streams cannot contain {@code
   * RESERVE}.
   */
  static String line(Act act, List<String> ids, int cost) {
    String op = act == Act.BATCH ? "batchSpend" : act.name().toLowerCase(Locale.ROOT);
    return "{\"op\":\"%s\",%s}\n".formatted(op, fields(act, ids, cost));
  }

  private static String fields(Act act, List<String> ids, int cost) {
    List<String> all =
        ids.stream()
            .map(id -> "\"limit\":\"%s\",\"id\":\"%s\",\"cost\":%s".formatted(Act.LIMIT, id, cost))
            .toList();
    return act == Act.BATCH
        ? all.stream().collect(Collectors.joining("},{", "\"transactions\":[{", "}]"))
        : all.get(0);
  }

  /**
   * Reads the outcome from a response. The response to a batch contains one decision for each id.
   */
  static Outcome outcome(Act act, HttpAnswer answer) throws IOException {
    String body = answer.body();
    if (answer.status() == 503 || body.contains("\"status\":503")) {
      return Outcome.UNDECIDED;
    }
    int parts = act == Act.BATCH ? body.indexOf("\"decisions\":[") : 0;
    if (answer.status() != 200 || parts < 0) {
      throw new IOException("unexpected response to %s: %s".formatted(act, answer));
    }
    List<Long> remaining = new ArrayList<>();
    Matcher found = REMAINING.matcher(body);
    for (boolean more = found.find(parts); more; more = found.find()) {
      remaining.add(Long.parseLong(found.group(1)));
    }
    return new Outcome(body.contains(ALLOWED), remaining);
  }
}
