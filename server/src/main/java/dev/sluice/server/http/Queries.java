// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.QueryParams;
import com.linecorp.armeria.server.ServiceRequestContext;
import dev.sluice.internal.text.Suggestion;
import dev.sluice.wire.Mistakes;
import dev.sluice.wire.WireException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads query parameters as strictly as the server reads request bodies. */
final class Queries {

  private Queries() {}

  /** Refuses a request with an unknown or a repeated query parameter. */
  static void require(ServiceRequestContext context, List<String> known) {
    Mistakes mistakes = new Mistakes();
    require(context, known, mistakes);
    if (!mistakes.none()) {
      throw mistakes.exception();
    }
  }

  /** Adds a mistake for each unknown or repeated query parameter. */
  static void require(ServiceRequestContext context, List<String> known, Mistakes mistakes) {
    QueryParams parameters = context.queryParams();
    for (String name : parameters.names()) {
      if (!known.contains(name)) {
        mistakes.add(
            name,
            "found an unknown query parameter, expected %s%s"
                .formatted(
                    known.isEmpty() ? "none" : String.join(", ", known),
                    Suggestion.didYouMean(name, known)));
      } else if (parameters.getAll(name).size() > 1) {
        mistakes.add(name, "found the query parameter twice, expected it once");
      }
    }
  }

  /** Returns the percent-encoded value of a parameter; null if the parameter is missing. */
  static @Nullable String encoded(ServiceRequestContext context, String name) {
    String query = context.query();
    for (String pair : query == null ? new String[0] : query.split("&", -1)) {
      if (pair.startsWith(name + "=")) {
        return pair.substring(name.length() + 1);
      }
    }
    return null;
  }

  /**
   * Decodes a value.
   *
   * @param what the kind of value, for the message
   * @throws WireException if the value is not percent-encoded UTF-8
   */
  static String decoded(String encoded, String field, String what) {
    try {
      String text = URLDecoder.decode(encoded, StandardCharsets.UTF_8);
      // The decoder replaces invalid UTF-8 by U+FFFD: two such ids would share a bucket.
      if (text.indexOf('\uFFFD') < 0) {
        return text;
      }
    } catch (IllegalArgumentException e) {
      // Falls through to the common message.
    }
    throw new WireException(field, "the %s must be percent-encoded UTF-8".formatted(what));
  }
}
