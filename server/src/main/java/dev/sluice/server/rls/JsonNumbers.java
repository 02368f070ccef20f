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
import com.google.protobuf.Descriptors.FieldDescriptor;
import dev.sluice.envoy.RateLimitRequest;
import dev.sluice.text.SafeText;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Finds the numbers that protobuf's library must not see: it writes out all zeros of {@code
 * 1e100000000}, also where that is a text. It also reads much that is not JSON. Stateless.
 */
final class JsonNumbers {

  /** Deeper than any request, and than what the library bears. */
  private static final int DEEPEST = 32;

  private static final JsonFactory JSON =
      JsonFactory.builder()
          .streamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(DEEPEST).build())
          .build();

  /** A number whose length bounds its size; or a name, as units have one. */
  private static final Pattern BOUNDED = Pattern.compile("-?[0-9.]{1,20}|[A-Za-z_]*");

  /** The names of all fields of a request that are read as numbers. */
  private static final Set<String> FIELDS =
      numbers(RateLimitRequest.getDescriptor()).collect(Collectors.toUnmodifiableSet());

  private JsonNumbers() {}

  private static Stream<String> numbers(Descriptor message) {
    return message.getFields().stream().flatMap(JsonNumbers::numbers);
  }

  private static Stream<String> numbers(FieldDescriptor field) {
    return switch (field.getJavaType()) {
      case STRING -> Stream.of();
      case MESSAGE ->
          field.getMessageType().getFile().getPackage().equals("google.protobuf")
              ? names(field) // in JSON, its value
              : numbers(field.getMessageType());
      default -> names(field);
    };
  }

  private static Stream<String> names(FieldDescriptor field) {
    return Stream.of(field.getName(), field.getJsonName());
  }

  /**
   * Makes sure that each number is short and has no exponent.
   *
   * @throws BadRequest if one is not, or the text is not JSON
   */
  static void requireBounded(String json) {
    try (JsonParser parser = JSON.createParser(json)) {
      String field = "";
      for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
        if (token == JsonToken.FIELD_NAME) {
          field = parser.currentName(); // also of what is in a list: the library takes it out
        } else if (token.isScalarValue() && FIELDS.contains(field)) {
          requireBounded(field, parser.getText());
        }
      }
    } catch (StreamConstraintsException e) {
      throw new BadRequest("the body is nested too deep, or a number or name in it is too long");
    } catch (JsonProcessingException e) {
      JsonLocation at = e.getLocation();
      throw new BadRequest(
          "the body is not JSON at line %s column %s".formatted(at.getLineNr(), at.getColumnNr()));
    } catch (IOException e) {
      throw new UncheckedIOException(e); // memory does not fail
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
