// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The acts and their outcomes as the server's JSON has them. Stateless. */
final class JsonActs {

  private static final Pattern REMAINING = Pattern.compile("\"remaining\":(\\d+)");
  private static final Pattern TOKEN = Pattern.compile("\"token\":\"([^\"]+)\"");

  private JsonActs() {}

  static String path(Act act) {
    return switch (act) {
      case SPEND, BATCH -> "/v1/spend";
      case CHECK -> "/v1/check";
      case REFUND -> "/v1/refund";
      case RESERVE -> "/v1/reservations";
    };
  }

  static String body(Act act, List<String> ids, int cost) {
    return "{" + fields(act, ids, cost) + "}";
  }

  /** A line of a stream. */
  static String line(Act act, List<String> ids, int cost) {
    String op =
        switch (act) {
          case SPEND -> "spend";
          case BATCH -> "batchSpend";
          case CHECK -> "check";
          case REFUND -> "refund";
          case RESERVE -> throw new IllegalArgumentException("a stream has no reservations");
        };
    return "{\"op\":\"%s\",%s}\n".formatted(op, fields(act, ids, cost));
  }

  private static String fields(Act act, List<String> ids, int cost) {
    List<String> all = ids.stream().map(id -> fields(id, cost)).toList();
    return act == Act.BATCH
        ? all.stream().collect(Collectors.joining("},{", "\"transactions\":[{", "}]"))
        : all.get(0);
  }

  private static String fields(String id, int cost) {
    return "\"limit\":\"%s\",\"id\":\"%s\",\"cost\":%s".formatted(Ledger.LIMIT, id, cost);
  }

  /** Reads a decision; of a batch, those of its parts. */
  static Outcome outcome(Act act, int status, String body) throws IOException {
    if (status == 503) {
      return Outcome.undecided();
    }
    if (status != 200) {
      throw new IOException("%s was answered %s %s".formatted(act, status, body));
    }
    List<Long> remaining = new ArrayList<>();
    Matcher found = REMAINING.matcher(body);
    int parts = act == Act.BATCH ? body.indexOf("\"decisions\":[") : 0;
    if (parts < 0) {
      throw new IOException("%s was answered %s".formatted(act, body));
    }
    for (boolean more = found.find(parts); more; more = found.find()) {
      remaining.add(Long.parseLong(found.group(1)));
    }
    return new Outcome(body.contains("\"allowed\":true"), remaining);
  }

  /** The path that takes a reservation back. */
  static String cancelling(String reservation) throws IOException {
    Matcher token = TOKEN.matcher(reservation);
    if (!token.find()) {
      throw new IOException("a reservation without a token: " + reservation);
    }
    return "/v1/reservations/%s/cancel".formatted(token.group(1));
  }

  /** What a reservation came to that was cancelled. */
  static Outcome cancelled(Outcome reserved, int status, String body) throws IOException {
    if (status == 503) {
      return Outcome.undecided();
    }
    if (status != 200 || !body.contains("\"cancelled\":true")) {
      throw new IOException("a cancellation was answered %s %s".formatted(status, body));
    }
    return reserved;
  }
}
