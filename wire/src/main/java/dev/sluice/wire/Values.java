// SPDX-License-Identifier: Apache-2.0
package dev.sluice.wire;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonParser.NumberType;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import dev.sluice.text.SafeText;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Single values of a request, each of exactly one JSON type. */
final class Values {

  private static final int SHOWN = 40;

  private Values() {}

  /** Returns null, and tells the mistake, where there is no string. */
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

  /** Returns null, and tells the mistake, where there is no 64-bit integer. */
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

  /** Returns the value as a message shows it. */
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
