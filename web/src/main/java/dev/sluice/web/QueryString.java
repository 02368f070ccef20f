// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Reads the query of a URL. */
final class QueryString {

  /** Decodes a name or a value; returns null if an escape is malformed. */
  interface Decoding {
    @Nullable String apply(String text);
  }

  private QueryString() {}

  /**
   * Returns all values of the parameters whose names match, in order.
   *
   * @param separators a regular expression that matches the separators between parameters
   * @param decoding decodes a name or a value
   */
  static List<String> values(
      @Nullable String query, Predicate<String> name, String separators, Decoding decoding) {
    if (query != null && query.indexOf('#') >= 0) {
      throw new UnusableRequestException("the query has a \"#\"; send %23 instead");
    }
    List<String> values = new ArrayList<>();
    for (String pair : query == null ? new String[0] : query.split(separators, -1)) {
      int equals = pair.indexOf('=');
      String sent = equals < 0 ? pair : pair.substring(0, equals);
      String key = decoding.apply(sent);
      if (key == null) {
        key = Escapes.lenient(sent, true); // as PHP, which cuts "user%00%" at the zero byte
      }
      if (name.test(key)) {
        String value = equals < 0 ? "" : decoding.apply(pair.substring(equals + 1));
        if (value == null) {
          throw new UnusableRequestException(
              "found a malformed escape in the query parameter " + key);
        }
        values.add(value);
      }
    }
    return values;
  }
}
