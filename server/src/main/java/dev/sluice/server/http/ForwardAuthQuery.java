// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.server.http.Answers.AnswerForm;
import dev.sluice.server.http.MethodService.Queries;
import dev.sluice.web.HeaderProfile;
import dev.sluice.web.RequestWord;
import dev.sluice.web.VaryBy;
import dev.sluice.wire.WireException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The query of a proxy's request. The proxy's configuration sets this query.
 *
 * @param limits the limits that the query names; empty if rules or headers name the limits
 * @param by where the limits come from if the query names none; null means the rules if there are
 *     rules, otherwise headers
 * @param cost the cost for each limit that a header names
 * @param deny403 whether every refusal has the status 403, for proxies that treat other statuses as
 *     a failure
 * @param headers the header profile of the response, such as {@link HeaderProfile#IETF}
 */
record ForwardAuthQuery(
    List<Wanted> limits,
    @Nullable By by,
    @Nullable Cost cost,
    boolean deny403,
    boolean dry,
    HeaderProfile headers) {

  static final ForwardAuthQuery NONE =
      new ForwardAuthQuery(List.of(), null, null, false, false, HeaderProfile.IETF);

  private static final List<String> KNOWN =
      List.of("limit", "id", "key", "cost", "by", "deny", "dry", "headers");
  private static final Set<String> REPEATED = Set.of("limit", "id", "key", "cost");
  private static final String HEADER = "header:";

  /** The source of a request's limits and ids. */
  enum By {
    RULES,
    HEADER
  }

  /**
   * A limit that the query names.
   *
   * @param id the id of the limit's bucket; null if a key or a header supplies the id
   * @param key the part of the original request that supplies the id; null if the query or a header
   *     supplies the id
   */
  record Wanted(String limit, @Nullable String id, @Nullable VaryBy key, @Nullable Cost cost) {}

  /** The cost for a limit: fixed, or from a request header; a missing header means 1. */
  record Cost(long tokens, @Nullable String header) {}

  /**
   * Parses a query as the proxy has sent it. Only "&" separates parameters, since a proxy can
   * insert a value from the client.
   *
   * @throws WireException if the query has a mistake
   */
  static ForwardAuthQuery parse(@Nullable String query) {
    Reading reading = new Reading();
    for (String pair : query == null || query.isEmpty() ? new String[0] : query.split("&", -1)) {
      int equals = pair.indexOf('=');
      String name = decoded(equals < 0 ? pair : pair.substring(0, equals), "query");
      if (!KNOWN.contains(name)) {
        throw new WireException(
            null,
            "found the unknown query parameter %s, expected %s%s"
                .formatted(
                    SafeText.quote(name),
                    String.join(", ", KNOWN),
                    Suggestion.didYouMean(name, KNOWN)));
      }
      reading.take(name, equals < 0 ? "" : decoded(pair.substring(equals + 1), name));
    }
    return reading.done();
  }

  private static String decoded(String text, String field) {
    return Queries.decoded(text, field, "value");
  }

  /** Collects parameters in their order: parameters after a limit belong to this limit. */
  private static final class Reading {
    private final List<Wanted> limits = new ArrayList<>();
    private final Set<String> seen = new HashSet<>();
    private @Nullable String limit;
    private @Nullable String id;
    private @Nullable VaryBy key;
    private @Nullable Cost cost;
    private @Nullable By by;
    private boolean deny403;
    private boolean dry;
    private HeaderProfile headers = HeaderProfile.IETF;

    void take(String name, String value) {
      if (name.equals("limit")) {
        endLimit();
        if (limits.isEmpty() && cost != null) {
          throw new WireException(
              "cost", "found a cost before the first limit, expected it after its limit");
        }
        if (value.isEmpty()) {
          throw new WireException("limit", "found an empty text, expected the name of a limit");
        }
        REPEATED.forEach(seen::remove);
        limit = value;
        return;
      }
      if (!seen.add(name)) {
        throw new WireException(
            name,
            "found the query parameter twice, expected it once"
                + (REPEATED.contains(name) ? " for each limit" : ""));
      }
      switch (name) {
        case "id" -> id = value;
        case "key" -> key = key(value);
        case "cost" -> cost = cost(value);
        case "by" -> by = choice(name, value, By.RULES, "rules", By.HEADER, "header");
        case "deny" -> deny403 = choice(name, value, false, "429", true, "403");
        case "dry" -> dry = choice(name, value, false, "false", true, "true");
        default -> headers = AnswerForm.headers(value);
      }
    }

    private static VaryBy key(String word) {
      try {
        VaryBy key = RequestWord.parse(word);
        if (key.pathVariable() == null) {
          return key;
        }
      } catch (IllegalArgumentException e) {
        throw new WireException("key", String.valueOf(e.getMessage()));
      }
      throw new WireException(
          "key", "found a path variable, expected another key: only rules have path patterns");
    }

    private static Cost cost(String value) {
      if (value.startsWith(HEADER) && value.length() > HEADER.length()) {
        return new Cost(1, value.substring(HEADER.length()));
      }
      if (!value.matches("[0-9]{1,18}")) {
        throw new WireException(
            "cost",
            "found %s, expected a whole number, or header:NAME for a header with the cost"
                .formatted(SafeText.quote(value)));
      }
      return new Cost(Long.parseLong(value), null);
    }

    private static <T> T choice(
        String name, String value, T first, String firstWord, T second, String secondWord) {
      if (value.equals(firstWord)) {
        return first;
      }
      if (value.equals(secondWord)) {
        return second;
      }
      throw new WireException(
          name,
          "found %s, expected %s or %s".formatted(SafeText.quote(value), firstWord, secondWord));
    }

    private void endLimit() {
      String name = limit;
      if (name != null) {
        if (id != null && key != null) {
          throw new WireException(
              "key", "found both an id and a key for one limit, expected only one");
        }
        limits.add(new Wanted(name, id, key, cost));
        id = null;
        key = null;
        cost = null;
      }
    }

    ForwardAuthQuery done() {
      endLimit();
      limit = null;
      if (id != null || key != null) {
        String field = id != null ? "id" : "key";
        throw new WireException(
            field, "put %s= after the limit= that it belongs to".formatted(field));
      }
      if (!limits.isEmpty() && by != null) {
        throw new WireException("by", "found both by and limit, expected only one of them");
      }
      return new ForwardAuthQuery(List.copyOf(limits), by, cost, deny403, dry, headers);
    }
  }
}
