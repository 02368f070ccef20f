// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Reads a URL's query, and leaves the body to the application. Pure. */
final class QueryString {

  /** How a name or a value is decoded. */
  interface Decoding {
    @Nullable String apply(String text);
  }

  private QueryString() {}

  /**
   * All values of the parameters of some names, in order. A name that cannot be decoded matches
   * nothing.
   *
   * @param separators a regular expression for one of them
   * @param decoding of a name or a value; null for a malformed escape
   */
  static List<String> values(
      @Nullable String query, Predicate<String> name, String separators, Decoding decoding) {
    if (query != null && query.indexOf('#') >= 0) {
      throw new UnusableRequestException("the query has a \"#\", expected %23 in its place");
    }
    List<String> values = new ArrayList<>();
    for (String pair : query == null ? new String[0] : query.split(separators, -1)) {
      int equals = pair.indexOf('=');
      String key = decoding.apply(equals < 0 ? pair : pair.substring(0, equals));
      if (key != null && name.test(key)) {
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
