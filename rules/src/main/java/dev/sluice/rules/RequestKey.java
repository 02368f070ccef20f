// SPDX-License-Identifier: Apache-2.0
package dev.sluice.rules;

import dev.sluice.web.RequestWord;
import dev.sluice.web.VaryBy;
import dev.sluice.web.WebRequest;
import org.jspecify.annotations.Nullable;

/** The words for what of a request makes an id: {@link RequestWord}. */
public final class RequestKey {

  private RequestKey() {}

  /**
   * Reads a word.
   *
   * @param word such as {@code ip} or {@code header:X-Api-Key}
   * @return where the value comes from
   * @throws IllegalArgumentException if there is no such word
   */
  public static VaryBy parse(String word) {
    return RequestWord.parse(word);
  }

  /** The host without its port and in lower case; null where there is not exactly one. */
  static @Nullable String host(WebRequest request) {
    return RequestWord.host(request);
  }
}
