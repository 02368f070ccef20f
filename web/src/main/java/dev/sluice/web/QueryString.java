// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads a URL's query, and leaves the body to the application. Pure. */
final class QueryString {

  private QueryString() {}

  /** All values of a parameter, in order. A name that can't be decoded matches nothing. */
  static List<String> values(@Nullable String query, String name) {
    List<String> values = new ArrayList<>();
    for (String pair : query == null ? new String[0] : query.split("&", -1)) {
      int equals = pair.indexOf('=');
      String key = decoded(equals < 0 ? pair : pair.substring(0, equals));
      if (name.equals(key)) {
        String value = equals < 0 ? "" : decoded(pair.substring(equals + 1));
        if (value == null) {
          throw new UnusableRequestException(
              "found a malformed escape in the query parameter " + name);
        }
        values.add(value);
      }
    }
    return values;
  }

  /** Null for a malformed escape. */
  static @Nullable String decoded(String text) {
    try {
      return URLDecoder.decode(text, StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      return null;
    }
  }
}
