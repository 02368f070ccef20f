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

/** Query parameters, read as strictly as bodies are. Stateless. */
final class Queries {

  private Queries() {}

  /** Refuses a parameter that is unknown, or there more than once. */
  static void require(ServiceRequestContext context, List<String> known) {
    Mistakes mistakes = new Mistakes();
    require(context, known, mistakes);
    if (!mistakes.none()) {
      throw mistakes.exception();
    }
  }

  /** Collects the parameters that are unknown, or there more than once. */
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

  /** Finds the value of a parameter as the client wrote it; null if the parameter is not there. */
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
   * Decodes a part of a form.
   *
   * @param field what it is called in the message
   * @param what what it holds
   * @throws WireException if it is not percent-encoded UTF-8
   */
  static String decoded(String encoded, String field, String what) {
    try {
      String text = URLDecoder.decode(encoded, StandardCharsets.UTF_8);
      // The decoder puts U+FFFD where the bytes are not UTF-8: two such ids would share a bucket.
      if (text.indexOf('\uFFFD') < 0) {
        return text;
      }
    } catch (IllegalArgumentException e) {
      // Falls through to the message that both share.
    }
    throw new WireException(field, "the %s must be percent-encoded UTF-8".formatted(what));
  }
}
