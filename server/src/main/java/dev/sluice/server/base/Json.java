// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.base;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonParser.NumberType;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.wire.DecisionWriter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Writes the fields of a JSON object into memory, and reads JSON. Not thread-safe. */
public final class Json {

  private static final JsonFactory JSON =
      JsonFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();
  private static final int USUAL_SIZE = 512;

  private final JsonGenerator out;

  private Json(JsonGenerator out) {
    this.out = out;
  }

  /** Writes JSON with a generator of the library Jackson. */
  public interface Raw {
    void write(JsonGenerator json) throws IOException;
  }

  /** Returns a JSON object in UTF-8. */
  public static byte[] object(Consumer<Json> fields) {
    return written(of(fields)).toByteArray();
  }

  /** Returns a JSON object that can be written into another object. */
  public static Raw of(Consumer<Json> fields) {
    return json -> new Json(json).fields(fields);
  }

  /** Returns the JSON that {@code raw} writes, in UTF-8. */
  public static ByteArrayOutputStream written(Raw raw) {
    return written(JSON, raw);
  }

  static ByteArrayOutputStream written(JsonFactory form, Raw raw) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(USUAL_SIZE);
    try (JsonGenerator json = form.createGenerator(bytes)) {
      raw.write(json);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // cannot happen: the target is in memory
    }
    return bytes;
  }

  /** Writes the result of {@code raw} as the next part of the current JSON object. */
  @CanIgnoreReturnValue
  public Json raw(Raw raw) {
    try {
      raw.write(out);
    } catch (IOException e) {
      throw new UncheckedIOException(e); // cannot happen: the target is in memory
    }
    return this;
  }

  /** Writes a number, boolean, map, list, or another value as text; omits a null value's field. */
  @CanIgnoreReturnValue
  public Json put(String name, @Nullable Object value) {
    return value == null
        ? this
        : raw(
            json -> {
              json.writeFieldName(name);
              write(value);
            });
  }

  private void write(@Nullable Object value) throws IOException {
    if (value instanceof Map<?, ?> fields) {
      fields(json -> fields.forEach((name, field) -> json.put(String.valueOf(name), field)));
    } else if (value instanceof List<?> items) {
      out.writeStartArray();
      for (Object item : items) {
        write(item);
      }
      out.writeEndArray();
    } else if (value instanceof Number number) {
      out.writeNumber(number.toString());
    } else if (value instanceof Boolean flag) {
      out.writeBoolean(flag);
    } else if (value == null) {
      out.writeNull();
    } else {
      out.writeString(value.toString());
    }
  }

  private void fields(Consumer<Json> fields) throws IOException {
    out.writeStartObject();
    fields.accept(this);
    out.writeEndObject();
  }

  /** Writes a field that is a time in seconds, with all digits. */
  @CanIgnoreReturnValue
  public Json putSeconds(String name, long nanos) {
    return raw(json -> DecisionWriter.writeSeconds(name, nanos, json));
  }

  /** Writes a JSON field whose value is an object. */
  @CanIgnoreReturnValue
  public Json put(String name, Consumer<Json> fields) {
    return raw(
        json -> {
          json.writeFieldName(name);
          fields(fields);
        });
  }

  /** Writes a JSON field whose value is a list of objects. */
  @CanIgnoreReturnValue
  public <T> Json putEach(String name, Iterable<T> items, BiConsumer<T, Json> fields) {
    return raw(
        json -> {
          json.writeArrayFieldStart(name);
          for (T item : items) {
            fields(one -> fields.accept(item, one));
          }
          json.writeEndArray();
        });
  }

  /**
   * Reads a value: a map, a list, a text, a boolean, a number ({@link Long} if it is whole and has
   * at most 64 bits), or null.
   *
   * @throws IOException if the text is not one JSON value, or a field occurs twice
   */
  public static @Nullable Object read(byte[] text) throws IOException {
    try (JsonParser json = JSON.createParser(text)) {
      if (json.nextToken() == null) {
        throw new IOException("no value");
      }
      Object value = value(json);
      if (json.nextToken() != null) {
        throw new IOException("more text after the value");
      }
      return value;
    }
  }

  private static @Nullable Object value(JsonParser json) throws IOException {
    return switch (json.currentToken()) {
      case START_OBJECT -> {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        while (json.nextToken() == JsonToken.FIELD_NAME) {
          String name = json.currentName();
          json.nextToken();
          fields.put(name, value(json));
        }
        yield fields;
      }
      case START_ARRAY -> {
        List<@Nullable Object> items = new ArrayList<>();
        while (json.nextToken() != JsonToken.END_ARRAY) {
          items.add(value(json));
        }
        yield items;
      }
      case VALUE_TRUE, VALUE_FALSE -> json.getBooleanValue();
      case VALUE_NUMBER_INT ->
          json.getNumberType() == NumberType.BIG_INTEGER
              ? json.getNumberValue()
              : (Number) json.getLongValue();
      case VALUE_NUMBER_FLOAT -> json.getDecimalValue();
      case VALUE_NULL -> null;
      default -> json.getText();
    };
  }
}
