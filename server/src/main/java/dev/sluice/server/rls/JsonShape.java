// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor.JavaType;
import dev.sluice.envoy.RateLimitDescriptor;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.internal.text.SafeText;
import dev.sluice.server.rls.RateLimitService.BadRequest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Refuses JSON that protobuf's library must not see, or accepts silently: numbers such as {@code
 * 1e100000000}, which it would expand; text that is not JSON; a repeated field; text after the
 * object; and an unknown field of a descriptor.
 */
final class JsonShape {

  /** Deeper than any request, and less than the library can handle. */
  private static final int DEEPEST = 32;

  private static final JsonFactory JSON =
      JsonFactory.builder()
          .streamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(DEEPEST).build())
          .build();

  /**
   * A number without an exponent, so that its length bounds its value; or a name, such as a unit's.
   */
  private static final Pattern BOUNDED = Pattern.compile("-?[0-9.]{1,20}|[A-Za-z_]*");

  private static final String OF_DESCRIPTORS = RateLimitDescriptor.getDescriptor().getFullName();

  private JsonShape() {}

  /** Checks a request; throws {@link BadRequest} if the JSON is refused. */
  static void require(String json) {
    try (JsonParser parser = JSON.createParser(json)) {
      JsonToken first = parser.nextToken();
      if (first == JsonToken.START_OBJECT) {
        message(RateLimitRequest.getDescriptor(), "", parser);
      } else {
        parser.skipChildren();
      }
      if (parser.nextToken() != null) {
        throw new BadRequest("there is more text after the JSON object");
      }
    } catch (StreamConstraintsException e) {
      throw new BadRequest("the body is nested too deep, or a number or name in it is too long");
    } catch (JsonProcessingException e) {
      JsonLocation at = e.getLocation();
      throw new BadRequest(
          "the body is not JSON at line %s column %s".formatted(at.getLineNr(), at.getColumnNr()));
    } catch (IOException e) {
      throw new UncheckedIOException(e); // cannot happen: the target is in memory
    }
  }

  private static void message(Descriptor type, String path, JsonParser parser) throws IOException {
    Set<FieldDescriptor> seen = new HashSet<>();
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      String name = parser.currentName();
      FieldDescriptor field = find(type, name);
      parser.nextToken();
      if (field != null && !seen.add(field)) {
        throw new BadRequest(
            "found the field %s again, expected it once".formatted(join(path, field.getName())));
      }
      if (field != null) {
        value(field, join(path, field.getName()), parser);
      } else if (type.getFullName().startsWith(OF_DESCRIPTORS)) {
        throw RequestMessages.unknownField(path, SafeText.quote(name));
      } else {
        parser.skipChildren();
      }
    }
  }

  private static String join(String path, String name) {
    return path.isEmpty() ? name : path + "." + name;
  }

  private static @Nullable FieldDescriptor find(Descriptor type, String name) {
    return type.getFields().stream()
        .filter(field -> field.getName().equals(name) || field.getJsonName().equals(name))
        .findFirst()
        .orElse(null);
  }

  private static void value(FieldDescriptor field, String path, JsonParser parser)
      throws IOException {
    boolean isText = field.getJavaType() == JavaType.STRING;
    boolean isMessage = field.getJavaType() == JavaType.MESSAGE && !isWrapper(field);
    JsonToken token = parser.currentToken();
    if (token == JsonToken.START_ARRAY) { // the library also accepts a single number in a list
      for (int i = 0; parser.nextToken() != JsonToken.END_ARRAY; i++) {
        value(field, path + "[" + i + "]", parser);
      }
    } else if (token == JsonToken.START_OBJECT && isMessage) {
      message(field.getMessageType(), path, parser);
    } else if (token.isScalarValue() && !isText && !isMessage) {
      requireBounded(path, parser.getText());
      if (field.getJavaType() == JavaType.ENUM && token == JsonToken.VALUE_STRING) {
        requireKnown(field.getEnumType(), path, parser.getText());
      }
    } else {
      parser.skipChildren();
    }
  }

  /** Whether a field is a wrapper, which JSON writes as its value. */
  private static boolean isWrapper(FieldDescriptor field) {
    return field.getMessageType().getFile().getPackage().equals("google.protobuf");
  }

  /** Refuses an unknown enum word, which the library would ignore. */
  private static void requireKnown(EnumDescriptor type, String field, String word) {
    if (type.findValueByName(word) == null && !word.matches("-?[0-9]+")) {
      throw new BadRequest(
          "found %s in the field %s, expected one of %s"
              .formatted(
                  SafeText.quote(word),
                  field,
                  type.getValues().stream()
                      .map(EnumValueDescriptor::getName)
                      .collect(Collectors.joining(", "))));
    }
  }

  private static void requireBounded(String field, String value) {
    if (!BOUNDED.matcher(value).matches()) {
      throw new BadRequest(
          "found %s in the field %s, expected a number of at most 20 digits without an exponent"
              .formatted(SafeText.quote(value), field));
    }
  }
}
