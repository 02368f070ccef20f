// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import dev.sluice.server.wire.WireException;
import dev.sluice.text.GoDuration;
import dev.sluice.text.Suggestion;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A flat JSON object of texts and whole numbers, read as strictly as all bodies are. Immutable. */
final class AdminBody {

  private static final JsonFactory JSON =
      JsonFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();
  private static final int LONGEST_COMMENT = 1000;

  private final Map<String, Object> fields;

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
          case VALUE_NUMBER_INT -> fields.put(name, parser.getLongValue());
          default ->
              throw new WireException(
                  name, "found another kind of value, expected a text or a whole number");
        }
      }
      if (parser.nextToken() != null) {
        throw new WireException(null, "there is more text after the JSON object");
      }
    } catch (IOException e) {
      throw new WireException(null, "the body must be a JSON object of texts and whole numbers");
    }
    return new AdminBody(fields);
  }

  /** Refuses fields that are not known. */
  AdminBody require(List<String> known) {
    for (String name : fields.keySet()) {
      if (!known.contains(name)) {
        throw new WireException(
            name,
            "found an unknown field, expected one of %s%s"
                .formatted(String.join(", ", known), Suggestion.didYouMean(name, known)));
      }
    }
    return this;
  }

  boolean has(String field) {
    return fields.containsKey(field);
  }

  @Nullable Long number(String field) {
    Object value = fields.get(field);
    if (value == null || value instanceof Long) {
      return (Long) value;
    }
    throw new WireException(field, "found a text, expected a whole number");
  }

  long requiredNumber(String field) {
    Long value = number(field);
    if (value == null) {
      throw new WireException(field, "the field is missing, expected a whole number");
    }
    return value;
  }

  @Nullable String text(String field) {
    Object value = fields.get(field);
    if (value == null || value instanceof String) {
      return (String) value;
    }
    throw new WireException(field, "found a number, expected a text");
  }

  /** A duration greater than zero. */
  Duration duration(String field) {
    String text = text(field);
    if (text == null) {
      throw new WireException(
          field, "the field is missing, expected a duration such as 1s, 180m or 7d");
    }
    try {
      Duration duration = GoDuration.parse(text);
      if (duration.isZero()) {
        throw new WireException(field, "found zero, expected a duration > 0");
      }
      return duration;
    } catch (IllegalArgumentException e) {
      throw new WireException(field, String.valueOf(e.getMessage()));
    }
  }

  /** Returns the comment of a person; empty if it is absent. */
  String comment() {
    String text = text("comment");
    if (text == null) {
      return "";
    }
    if (text.length() > LONGEST_COMMENT || text.indexOf('\0') >= 0) {
      throw new WireException(
          "comment", "expected at most %s characters, and no U+0000".formatted(LONGEST_COMMENT));
    }
    return text;
  }
}
