// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.ResponseHeadersBuilder;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The headers that tell a decision. Thread-safe. */
final class DecisionFields {

  /** The names in the library's form, which takes time to make and to check. There are few. */
  private static final Map<String, CharSequence> NAMES = new ConcurrentHashMap<>();

  private DecisionFields() {}

  /**
   * Sets the headers of a profile.
   *
   * @param fields by their names, of which there is a fixed number
   * @param headers take them
   */
  static void set(Map<String, String> fields, ResponseHeadersBuilder headers) {
    for (Map.Entry<String, String> field : fields.entrySet()) {
      headers.set(NAMES.computeIfAbsent(field.getKey(), HttpHeaderNames::of), field.getValue());
    }
  }
}
