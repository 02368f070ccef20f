// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonParser.NumberType;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import dev.sluice.text.GoDuration;
import dev.sluice.text.Suggestion;
import dev.sluice.wire.Mistakes;
import dev.sluice.wire.WireException;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A flat JSON object of strings and whole numbers, read as strictly as all bodies are. Its mistakes
 * are collected, to be thrown together: {@link #requireSound}. For one thread.
 */
final class AdminBody {

  private static final JsonFactory JSON =
      JsonFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();
  private static final int LONGEST_COMMENT = 1000;

  /** In place of a value that is neither a string nor a whole number of 64 bits. */
  private record Unusable(String why) {}

  private final Map<String, Object> fields;
  private final Mistakes mistakes = new Mistakes();

  private AdminBody(Map<String, Object> fields) {
    this.fields = fields;
  }

  static AdminBody read(byte[] json) {
    Map<String, Object> fields = new LinkedHashMap<>();
    try (JsonParser parser = JSON.createParser(json)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        throw new WireException(null, "the body must be a JSON object");
      }
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        String name = parser.currentName();
        switch (parser.nextToken()) {
          case VALUE_STRING -> fields.put(name, parser.getText());
          case VALUE_NUMBER_INT -> fields.put(name, wholeNumber(parser));
          default -> {
            fields.put(
                name,
                new Unusable("found another kind of value, expected a string or a whole number"));
            parser.skipChildren();
          }
        }
      }
      if (parser.nextToken() != null) {
        throw new WireException(null, "there is more text after the JSON object");
      }
    } catch (IOException e) {
      throw new WireException(null, "the body must be a JSON object of strings and whole numbers");
    }
    return new AdminBody(fields);
  }

  private static Object wholeNumber(JsonParser parser) throws IOException {
    return parser.getNumberType() == NumberType.BIG_INTEGER
        ? new Unusable(
            "found a number beyond 64 bits, expected a whole number of at most %s"
                .formatted(Long.MAX_VALUE))
        : parser.getLongValue();
  }

  /** Collects the fields that are not known, and values of another kind. */
  void require(List<String> known) {
    fields.forEach(
        (name, value) -> {
          if (!known.contains(name)) {
            mistakes.add(
                name,
                "found an unknown field, expected one of %s%s"
                    .formatted(String.join(", ", known), Suggestion.didYouMean(name, known)));
          } else if (value instanceof Unusable unusable) {
            mistakes.add(name, unusable.why);
          }
        });
  }

  /** Adds a mistake; of those of a field, the first is told. */
  void mistake(@Nullable String field, String message) {
    mistakes.add(field, message);
  }

  /**
   * Throws what is wrong with the fields that were read.
   *
   * @throws WireException if there is anything
   */
  void requireSound() {
    if (!mistakes.none()) {
      throw mistakes.exception();
    }
  }

  boolean has(String field) {
    return fields.containsKey(field);
  }

  /** A whole number; null after a mistake. */
  @Nullable Long number(String field) {
    Object value = fields.get(field);
    if (value instanceof Long number) {
      return number;
    }
    mistakes.add(
        field,
        value == null
            ? "the field is missing, expected a whole number"
            : "found a string, expected a whole number");
    return null;
  }

  /** A text; null if it is absent, and after a mistake. */
  @Nullable String text(String field) {
    Object value = fields.get(field);
    if (value == null || value instanceof String) {
      return (String) value;
    }
    mistakes.add(field, "found a number, expected a string");
    return null;
  }

  /** A duration greater than zero; null after a mistake. */
  @Nullable Duration duration(String field) {
    String text = text(field);
    if (text == null) {
      mistakes.add(field, "the field is missing, expected a duration such as 1s, 180m or 7d");
      return null;
    }
    try {
      Duration duration = GoDuration.parse(text);
      if (!duration.isZero()) {
        return duration;
      }
      mistakes.add(field, "found zero, expected a duration > 0");
    } catch (IllegalArgumentException e) {
      mistakes.add(field, String.valueOf(e.getMessage()));
    }
    return null;
  }

  /** Returns the comment of a person; empty if it is absent. */
  String comment() {
    String text = text("comment");
    if (text == null) {
      return "";
    }
    if (text.length() > LONGEST_COMMENT || text.indexOf('\0') >= 0) {
      mistakes.add(
          "comment", "expected at most %s characters, and no U+0000".formatted(LONGEST_COMMENT));
    }
    return text;
  }
}
