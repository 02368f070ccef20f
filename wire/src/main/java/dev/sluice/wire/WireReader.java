// SPDX-License-Identifier: Apache-2.0
package dev.sluice.wire;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonParser.NumberType;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.io.JsonEOFException;
import dev.sluice.Reservation.Costs;
import dev.sluice.internal.text.SafeText;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.limit.InvalidRequestException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CoderResult;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * Parses JSON requests strictly. Rejects an unknown or repeated field, a number that is not a
 * 64-bit integer, a string instead of a number, and text after the object.
 *
 * <p>Thread-safe; never blocks. Time and memory are linear in the length of the text, which the
 * caller must bound.
 */
public final class WireReader {

  /** The name of a field that was skipped after a mistake. No real field has an empty name. */
  private static final String UNREADABLE = "";

  private static final List<String> TRANSACTION_FIELDS = List.of("limit", "id", "cost", "kind");
  private static final List<String> HTTP_FIELDS =
      List.of("limit", "id", "cost", "upTo", "transactions");
  private static final List<String> STREAM_FIELDS =
      List.of("op", "limit", "id", "cost", "upTo", "transactions");
  private static final String COSTS = "costs";
  private static final String ALLOW_ZERO = "allowZero";
  private static final int MOST_COSTS = 100;
  private static final Costs NO_COSTS = Costs.of(Map.of());
  private static final WireReader SETTLEMENT = new WireReader(List.of(COSTS, ALLOW_ZERO));
  private static final List<String> TRACE_FIELDS =
      List.of("at", "op", "limit", "id", "cost", "transactions");

  /**
   * The maximum nesting depth: an object, a list in it, and objects in the list. The parser itself
   * allows one more level, so that a message can name the field that is nested too deeply.
   */
  private static final int DEEPEST = 4;

  /**
   * The largest number of characters of a text or number. Valid ids are much shorter, so most ids
   * that are too long pass the parser and are rejected with a message about ids.
   */
  static final int LONGEST_TEXT = 8192;

  private final JsonFactory factory =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(DEEPEST)
                  .maxStringLength(LONGEST_TEXT)
                  .maxNumberLength(LONGEST_TEXT)
                  .maxNameLength(LONGEST_TEXT)
                  .build())
          .build();
  private final List<String> fields;

  private WireReader(List<String> fields) {
    this.fields = fields;
  }

  /**
   * Returns a reader of HTTP bodies.
   *
   * @return a reader that accepts the fields {@code limit}, {@code id}, {@code cost} and {@code
   *     upTo}, or {@code transactions}
   */
  public static WireReader ofHttp() {
    return new WireReader(HTTP_FIELDS);
  }

  /**
   * Returns a reader of the lines of a stream of operations.
   *
   * @return a reader that accepts the fields of HTTP bodies and {@code op}
   */
  public static WireReader ofStream() {
    return new WireReader(STREAM_FIELDS);
  }

  /**
   * Returns a reader of the lines of a trace.
   *
   * @return a reader that accepts {@code at}, {@code op} and the fields of HTTP bodies except
   *     {@code upTo}
   */
  public static WireReader ofTrace() {
    return new WireReader(TRACE_FIELDS);
  }

  /**
   * Reads one request. Mistakes in fields are thrown when the request's limits are looked up.
   *
   * @param json the bytes of a JSON object in UTF-8
   * @param offset the index of the object's first byte
   * @param length the length of the object in bytes
   * @return the request; its limits are not yet looked up
   * @throws WireException if the text is not a JSON object
   */
  public WireRequest read(byte[] json, int offset, int length) {
    return read(json, offset, length, new Mistakes());
  }

  /**
   * Reads one request that can already have mistakes, such as mistakes in its query.
   *
   * @param json the bytes of a JSON object in UTF-8
   * @param mistakes the known mistakes; receives the mistakes in the JSON
   * @return the request; its limits are not yet looked up
   * @throws WireException with all mistakes, if the text is not a JSON object
   */
  public WireRequest read(byte[] json, Mistakes mistakes) {
    return read(json, 0, json.length, mistakes);
  }

  private WireRequest read(byte[] json, int offset, int length, Mistakes mistakes) {
    try {
      return readObject(json, offset, length, mistakes, this::readRequest);
    } catch (WireException e) {
      mistakes.addAll(e);
      throw mistakes.exception();
    }
  }

  /**
   * Reads the costs of a settlement from the fields {@code costs} and {@code allowZero}. The field
   * {@code costs} is an object with a cost for each limit, or with an object of costs per id for
   * each limit.
   *
   * @param json the bytes of a JSON object in UTF-8
   * @return the costs
   * @throws WireException with all mistakes
   */
  public static Costs readCosts(byte[] json) {
    Mistakes mistakes = new Mistakes();
    Costs costs = SETTLEMENT.readObject(json, 0, json.length, mistakes, SETTLEMENT::readSettlement);
    if (!mistakes.none()) {
      throw mistakes.exception();
    }
    return costs;
  }

  private Costs readSettlement(JsonParser parser, Mistakes mistakes) throws IOException {
    requireObject(parser);
    Costs costs = null;
    boolean allowsZero = false;
    Set<String> seen = new HashSet<>();
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      switch (field(parser, "", fields, seen, mistakes)) {
        case COSTS -> costs = readCosts(parser, mistakes);
        case ALLOW_ZERO -> allowsZero = Values.truth(parser, ALLOW_ZERO, mistakes);
        default -> {}
      }
    }
    if (costs == null) {
      mistakes.add(COSTS, "the costs are missing, expected an object with a cost for each limit");
      costs = NO_COSTS;
    }
    return allowsZero ? costs.allowZero() : costs;
  }

  private static Costs readCosts(JsonParser parser, Mistakes mistakes) throws IOException {
    Costs costs = NO_COSTS;
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      mistakes.add(
          COSTS,
          "found %s, expected an object with a cost for each limit"
              .formatted(Values.found(parser)));
      parser.skipChildren();
      return costs;
    }
    int count = 0;
    Set<String> seen = new HashSet<>();
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      String limit = parser.currentName();
      String place = COSTS + "." + unquoted(limit);
      boolean isObject = parser.nextToken() == JsonToken.START_OBJECT;
      if (!seen.add(limit)) {
        String what = isObject ? "limit" : "cost";
        mistakes.add(place, "found the %s twice, expected it once".formatted(what));
        parser.skipChildren();
      } else if (!isObject) {
        requireFew(++count);
        costs = readCost(parser, place, mistakes, costs, (to, cost) -> to.and(limit, cost));
      } else {
        int before = count;
        while (parser.nextToken() == JsonToken.FIELD_NAME) {
          String id = parser.currentName();
          parser.nextToken();
          requireFew(++count);
          costs =
              readCost(
                  parser,
                  place + "." + unquoted(id),
                  mistakes,
                  costs,
                  (to, cost) -> to.and(limit, id, cost));
        }
        if (count == before) {
          mistakes.add(place, "found {}, expected a cost, or an object with a cost for each id");
        }
      }
    }
    return costs;
  }

  private static Costs readCost(
      JsonParser parser,
      String place,
      Mistakes mistakes,
      Costs costs,
      BiFunction<Costs, Long, Costs> with)
      throws IOException {
    Long cost = Values.integer(parser, place, mistakes);
    try {
      if (cost != null && cost < 0) {
        mistakes.add(place, "found %s, expected 0 or more".formatted(cost));
      } else if (cost != null) {
        return with.apply(costs, cost);
      }
    } catch (InvalidRequestException e) {
      mistakes.add(place, "found the cost twice, expected it once");
    }
    return costs;
  }

  /**
   * Checks the number of a settlement's costs.
   *
   * @param count the number of costs
   * @throws WireException if there are more costs than a reservation can have
   */
  public static void requireFew(int count) {
    if (count > MOST_COSTS) {
      throw new WireException(
          COSTS,
          "found more than %s costs, expected at most %s, as many as a reservation has"
              .formatted(MOST_COSTS, MOST_COSTS));
    }
  }

  /** Reads a JSON object after its first token. */
  private interface ObjectStep<T> {
    T read(JsonParser parser, Mistakes mistakes) throws IOException;
  }

  private static void requireObject(JsonParser parser) throws IOException {
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      throw new WireException(
          null, "found %s, expected a JSON object".formatted(Values.found(parser)));
    }
  }

  private <T> T readObject(
      byte[] json, int offset, int length, Mistakes mistakes, ObjectStep<T> step) {
    JsonText.requireUtf8(json, offset, length);
    try (JsonParser parser = factory.createParser(json, offset, length)) {
      if (parser.nextToken() == null) {
        throw new WireException(null, "the body is empty, expected a JSON object");
      }
      T request = step.read(parser, mistakes);
      if (parser.nextToken() != null) {
        mistakes.add(null, "found text after the JSON object");
      }
      return request;
    } catch (JsonProcessingException e) {
      throw new WireException(null, JsonText.whatIsWrong(e));
    } catch (IOException e) {
      throw new UncheckedIOException(e); // cannot happen: the JSON is in memory
    }
  }

  private WireRequest readRequest(JsonParser parser, Mistakes mistakes) throws IOException {
    requireObject(parser);
    Long at = null;
    String op = null;
    boolean upTo = false;
    Parts parts = new Parts(mistakes);
    List<@Nullable WireTransaction> transactions = null;
    Set<String> seen = new HashSet<>();
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      String field = field(parser, "", fields, seen, mistakes);
      switch (field) {
        case UNREADABLE -> {}
        case "at" -> at = Values.integer(parser, field, mistakes);
        case "op" -> op = Values.text(parser, field, mistakes);
        case "upTo" -> upTo = Values.truth(parser, field, mistakes);
        case "transactions" -> transactions = readTransactions(parser, mistakes);
        default -> parts.read(field, parser, "");
      }
    }
    return new WireRequest(at, op, parts.transaction(), upTo, transactions, mistakes);
  }

  private static List<@Nullable WireTransaction> readTransactions(
      JsonParser parser, Mistakes mistakes) throws IOException {
    List<@Nullable WireTransaction> transactions = new ArrayList<>();
    if (parser.currentToken() != JsonToken.START_ARRAY) {
      mistakes.add(
          "transactions", "found %s, expected a list of objects".formatted(Values.found(parser)));
      parser.skipChildren();
      return transactions;
    }
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      if (transactions.size() == WireRequest.MOST_TRANSACTIONS) {
        throw new WireException(
            "transactions",
            "found more than %s transactions, expected 1 to %s"
                .formatted(WireRequest.MOST_TRANSACTIONS, WireRequest.MOST_TRANSACTIONS));
      }
      String path = "transactions[" + transactions.size() + "]";
      transactions.add(readTransaction(parser, path, mistakes));
    }
    return transactions;
  }

  /** Reads one transaction of a batch; null if the value is not a JSON object. */
  private static @Nullable WireTransaction readTransaction(
      JsonParser parser, String path, Mistakes mistakes) throws IOException {
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      mistakes.add(path, "found %s, expected a JSON object".formatted(Values.found(parser)));
      parser.skipChildren();
      return null;
    }
    Parts parts = new Parts(mistakes);
    Set<String> seen = new HashSet<>();
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      String prefix = path + ".";
      String field = field(parser, prefix, TRANSACTION_FIELDS, seen, mistakes);
      if (!field.equals(UNREADABLE)) {
        parts.read(field, parser, prefix);
      }
    }
    return parts.transaction();
  }

  /**
   * Returns the name of the next field, and moves the parser to the field's value. For an unknown
   * or repeated field, adds a mistake, skips the value, and returns {@link #UNREADABLE}.
   */
  private static String field(
      JsonParser parser, String path, List<String> known, Set<String> seen, Mistakes mistakes)
      throws IOException {
    String name = parser.currentName();
    parser.nextToken();
    if (!known.contains(name)) {
      mistakes.add(
          path + unquoted(name),
          "found the unknown field %s, expected %s%s"
              .formatted(
                  SafeText.quote(name),
                  String.join(", ", known),
                  known.contains("transactions") && TRANSACTION_FIELDS.contains(name)
                      ? "; %s is a field of each of the transactions".formatted(name)
                      : Suggestion.didYouMean(name, known)));
    } else if (!seen.add(name)) {
      mistakes.add(
          path + name,
          "found the field %s twice, expected it once".formatted(SafeText.quote(name)));
    } else {
      return name;
    }
    parser.skipChildren();
    return UNREADABLE;
  }

  /** Returns a printable, shortened form of a name in the request. */
  private static String unquoted(String name) {
    String quoted = SafeText.quote(name);
    return quoted.substring(1, quoted.length() - 1);
  }

  /** Collects the fields of one transaction during parsing. */
  private static final class Parts {
    private final Mistakes mistakes;
    private @Nullable String limit;
    private @Nullable String id;
    private @Nullable Long cost;
    private @Nullable String kind;

    Parts(Mistakes mistakes) {
      this.mistakes = mistakes;
    }

    void read(String field, JsonParser parser, String path) throws IOException {
      switch (field) {
        case "limit" -> limit = Values.text(parser, path + field, mistakes);
        case "id" -> id = Values.text(parser, path + field, mistakes);
        case "cost" -> cost = Values.integer(parser, path + field, mistakes);
        default -> kind = Values.text(parser, path + field, mistakes);
      }
    }

    WireTransaction transaction() {
      return new WireTransaction(limit, id, cost, kind);
    }
  }

  /** Reads single values of a request, each of exactly one JSON type. */
  private static final class Values {

    private static final int SHOWN = 40;

    private Values() {}

    /** Returns the string. If the value is not a string, adds a mistake and returns null. */
    static @Nullable String text(JsonParser parser, String path, Mistakes mistakes)
        throws IOException {
      if (parser.currentToken() != JsonToken.VALUE_STRING) {
        String hint = parser.currentToken().isNumeric() ? ", in double quotes" : "";
        mistakes.add(path, "found %s, expected a string%s".formatted(found(parser), hint));
        parser.skipChildren();
        return null;
      }
      try {
        return parser.getText();
      } catch (StreamConstraintsException e) {
        mistakes.add(path, JsonText.whatIsWrong(e));
        throw mistakes.exception();
      }
    }

    /** Returns the 64-bit integer; adds a mistake and returns null for any other value. */
    static @Nullable Long integer(JsonParser parser, String path, Mistakes mistakes)
        throws IOException {
      if (parser.currentToken() != JsonToken.VALUE_NUMBER_INT) {
        String hint = parser.currentToken() == JsonToken.VALUE_STRING ? ", without quotes" : "";
        mistakes.add(path, "found %s, expected a whole number%s".formatted(found(parser), hint));
        parser.skipChildren();
        return null;
      }
      if (parser.getNumberType() == NumberType.BIG_INTEGER) {
        mistakes.add(
            path,
            "found %s, expected a whole number of at most 64 bits (up to 9223372036854775807)"
                .formatted(number(parser)));
        return null;
      }
      return parser.getLongValue();
    }

    /** Returns a boolean value. If the value is not a boolean, adds a mistake and returns false. */
    static boolean truth(JsonParser parser, String path, Mistakes mistakes) throws IOException {
      if (!parser.currentToken().isBoolean()) {
        mistakes.add(path, "found %s, expected true or false".formatted(found(parser)));
        parser.skipChildren();
        return false;
      }
      return parser.getBooleanValue();
    }

    /** Describes the JSON value at the parser's position, for a message. */
    static String found(JsonParser parser) throws IOException {
      return switch (parser.currentToken()) {
        case START_OBJECT -> "an object";
        case START_ARRAY -> "a list";
        case VALUE_STRING -> "the string " + SafeText.quote(parser.getText());
        case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> "the number " + number(parser);
        default -> String.valueOf(parser.getText());
      };
    }

    private static String number(JsonParser parser) throws IOException {
      String digits = parser.getText();
      return digits.length() > SHOWN ? digits.substring(0, SHOWN) + "…" : digits;
    }
  }

  /** Checks that a text is UTF-8, and rewrites the parser's errors for clients. */
  private static final class JsonText {

    private JsonText() {}

    /**
     * Rejects bytes that are not UTF-8. The parser would guess other encodings and accept overlong
     * UTF-8 sequences, so one id would have several spellings.
     */
    static void requireUtf8(byte[] text, int offset, int length) {
      int seen = 0;
      for (int i = offset; i < offset + length; i++) {
        seen |= text[i];
        if (text[i] == 0) { // in UTF-16 and UTF-32, ASCII characters have zero bytes
          throw noUtf8(text, i, offset);
        }
      }
      if (seen >= 0) {
        return; // ASCII text is valid UTF-8
      }
      ByteBuffer in = ByteBuffer.wrap(text, offset, length);
      CoderResult result =
          StandardCharsets.UTF_8.newDecoder().decode(in, CharBuffer.allocate(length), true);
      if (result.isError()) {
        throw noUtf8(text, in.position(), offset);
      }
    }

    private static WireException noUtf8(byte[] text, int at, int offset) {
      return new WireException(
          null,
          String.format(
              Locale.ROOT,
              "the text is not valid JSON: the byte 0x%02x (column %d), expected text in UTF-8",
              text[at],
              at - offset + 1));
    }

    /**
     * Returns Sluice's own message for a parser's error. The parser's messages are written for
     * programmers and quote long parts of the text.
     */
    static String whatIsWrong(JsonProcessingException e) {
      if (e instanceof StreamConstraintsException) {
        return "a text or a number has more than %s characters, or lists are nested too deep"
            .formatted(WireReader.LONGEST_TEXT);
      }
      JsonLocation at = e.getLocation();
      String where = at == null ? "" : " at " + place(at);
      String why =
          e instanceof JsonEOFException
              ? "the text ends inside the object; close every quote, bracket and brace"
              : "check quotes, commas and brackets";
      return "the text is not valid JSON%s: %s".formatted(where, why);
    }

    /** Formats line and column; omits line 1, since the text can be one line of a larger file. */
    private static String place(JsonLocation at) {
      String line = at.getLineNr() > 1 ? "line %s, ".formatted(at.getLineNr()) : "";
      return line + "column " + Math.max(at.getColumnNr(), 1);
    }
  }
}
