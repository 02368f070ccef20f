// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rules;

import dev.sluice.web.UnusableRequestException;
import dev.sluice.web.WebRequest;
import java.util.List;

/**
 * A cost that a header says. Immutable.
 *
 * @param header the header's name
 * @param otherwise tokens for a request without it
 */
record HeaderCost(String header, long otherwise) {

  /** Reads the cost, which must be a whole number. */
  long of(WebRequest request) {
    List<String> values = request.headers(header);
    if (values.isEmpty()) {
      return otherwise;
    }
    String text = values.get(0).strip();
    if (values.size() > 1 || !text.matches("[0-9]{1,18}")) {
      throw new UnusableRequestException(
          "the header %s must be a whole number, the cost".formatted(header));
    }
    return Long.parseLong(text);
  }
}
