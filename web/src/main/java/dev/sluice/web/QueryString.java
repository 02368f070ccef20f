// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Reads a URL's query, and leaves the body to the application. Pure. */
final class QueryString {

  private QueryString() {}

  /**
   * All values of the parameters of some names, in order. A name that cannot be decoded matches
   * nothing.
   *
   * @param separators a regular expression for one of them
   * @param plusIsSpace as in forms, which is how most applications read a query
   */
  static List<String> values(
      @Nullable String query, Predicate<String> name, String separators, boolean plusIsSpace) {
    if (query != null && query.indexOf('#') >= 0) {
      throw new UnusableRequestException("the query has a \"#\", expected %23 in its place");
    }
    List<String> values = new ArrayList<>();
    for (String pair : query == null ? new String[0] : query.split(separators, -1)) {
      int equals = pair.indexOf('=');
      String key = decoded(equals < 0 ? pair : pair.substring(0, equals), plusIsSpace);
      if (key != null && name.test(key)) {
        String value = equals < 0 ? "" : decoded(pair.substring(equals + 1), plusIsSpace);
        if (value == null) {
          throw new UnusableRequestException(
              "found a malformed escape in the query parameter " + key);
        }
        values.add(value);
      }
    }
    return values;
  }

  private static @Nullable String decoded(String text, boolean plusIsSpace) {
    return plusIsSpace ? Escapes.ofForm(text) : Escapes.decoded(text);
  }
}
