package dev.sluice.server.wire;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import dev.sluice.limit.IdTexts;
import dev.sluice.limit.Suggestion;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads requests strictly: an unknown or repeated field, a number that is no 64-bit integer, a text
 * where a number belongs, or anything after the object is refused, never guessed at.
 *
 * <p>Immutable and thread-safe; never blocks. Takes time linear in the text, and memory in its
 * length; how long that may be is the caller's to bound.
 */
public final class WireReader {

  private static final List<String> TRANSACTION_FIELDS = List.of("limit", "id", "cost", "kind");
  private static final List<String> HTTP_FIELDS = List.of("limit", "id", "cost", "transactions");
  private static final List<String> TRACE_FIELDS =
      List.of("at", "op", "limit", "id", "cost", "transactions");

  /** An object, the list in it, the objects in that; one level more to say what is wrong there. */
  private static final int DEEPEST = 4;

  /** Longer than any id or number, so that one that is too long is refused by its own rule. */
  private static final int LONGEST_TEXT = 8192;

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
   * A reader of HTTP bodies.
   *
   * @return a reader of {@code limit}, {@code id} and {@code cost}, or {@code transactions}
   */
  public static WireReader ofHttp() {
    return new WireReader(HTTP_FIELDS);
  }

  /**
   * A reader of the lines of a trace.
   *
   * @return a reader of the same, with {@code at} and {@code op}
   */
  public static WireReader ofTrace() {
    return new WireReader(TRACE_FIELDS);
  }

  /**
   * Reads one request.
   *
   * @param json holds a JSON object in UTF-8
   * @param offset where it starts
   * @param length its bytes
   * @return the request, not looked up yet
   * @throws WireException if it is anything but a request
   */
  public WireRequest read(byte[] json, int offset, int length) {
    JsonText.requireUtf8(json, offset, length);
    try (JsonParser parser = factory.createParser(json, offset, length)) {
      if (parser.nextToken() == null) {
        throw new WireException(null, "found nothing, expected a JSON object");
      }
      WireRequest request = readRequest(parser);
      if (parser.nextToken() != null) {
        throw new WireException(
            null, "found more text after the JSON object, expected one object and nothing else");
      }
      return request;
    } catch (JsonProcessingException e) {
      throw JsonText.refused(e, null);
    } catch (IOException e) {
      throw new WireException(null, "found no valid JSON: " + e.getMessage());
    }
  }

  private WireRequest readRequest(JsonParser parser) throws IOException {
    requireObject(parser, null);
    Long at = null;
    String op = null;
    Parts parts = new Parts();
    List<WireTransaction> transactions = null;
    Set<String> seen = new HashSet<>();
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      String field = field(parser, "", fields, seen);
      switch (field) {
        case "at" -> at = Values.integer(parser, field);
        case "op" -> op = Values.text(parser, field);
        case "transactions" -> transactions = readTransactions(parser);
        default -> parts.read(field, parser, "");
      }
    }
    return new WireRequest(at, op, parts.transaction(), transactions);
  }

  private static List<WireTransaction> readTransactions(JsonParser parser) throws IOException {
    if (parser.currentToken() != JsonToken.START_ARRAY) {
      throw new WireException(
          "transactions", "found %s, expected a list of objects".formatted(Values.found(parser)));
    }
    List<WireTransaction> transactions = new ArrayList<>();
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      transactions.add(readTransaction(parser, "transactions[" + transactions.size() + "]"));
      if (transactions.size() > WireRequest.MOST_TRANSACTIONS) {
        throw new WireException(
            "transactions",
            "found more than %s transactions, expected 1 to %s"
                .formatted(WireRequest.MOST_TRANSACTIONS, WireRequest.MOST_TRANSACTIONS));
      }
    }
    return transactions;
  }

  private static WireTransaction readTransaction(JsonParser parser, String path)
      throws IOException {
    requireObject(parser, path);
    Parts parts = new Parts();
    Set<String> seen = new HashSet<>();
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      String prefix = path + ".";
      parts.read(field(parser, prefix, TRANSACTION_FIELDS, seen), parser, prefix);
    }
    return parts.transaction();
  }

  private static void requireObject(JsonParser parser, @Nullable String path) throws IOException {
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      throw new WireException(
          path, "found %s, expected a JSON object".formatted(Values.found(parser)));
    }
  }

  /** The name of the next field; the parser then stands on its value. */
  private static String field(JsonParser parser, String path, List<String> known, Set<String> seen)
      throws IOException {
    String name = parser.currentName();
    if (!known.contains(name)) {
      throw new WireException(
          path + unquoted(name),
          "found the unknown field %s, expected %s%s"
              .formatted(
                  IdTexts.quote(name),
                  String.join(", ", known),
                  Suggestion.didYouMean(name, known)));
    }
    if (!seen.add(name)) {
      throw new WireException(
          path + name, "found the field %s twice, expected it once".formatted(IdTexts.quote(name)));
    }
    var unused = parser.nextToken();
    return name;
  }

  /** A name that somebody sent, printable and short. */
  private static String unquoted(String name) {
    String quoted = IdTexts.quote(name);
    return quoted.substring(1, quoted.length() - 1);
  }

  /** The parts of a transaction as they come. */
  private static final class Parts {
    private @Nullable String limit;
    private @Nullable String id;
    private @Nullable Long cost;
    private @Nullable String kind;

    void read(String field, JsonParser parser, String path) throws IOException {
      switch (field) {
        case "limit" -> limit = Values.text(parser, path + field);
        case "id" -> id = Values.text(parser, path + field);
        case "cost" -> cost = Values.integer(parser, path + field);
        default -> kind = Values.text(parser, path + field);
      }
    }

    WireTransaction transaction() {
      return new WireTransaction(limit, id, cost, kind);
    }
  }
}
