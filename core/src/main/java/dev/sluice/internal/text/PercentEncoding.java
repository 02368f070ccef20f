// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;

/** Decodes percent encoding as in URIs (RFC 3986), where a plus sign is an ordinary character. */
public final class PercentEncoding {

  private PercentEncoding() {}

  /**
   * Decodes a part of a URI.
   *
   * @param text the part, with {@code %41} for {@code A}
   * @return the decoded text, read as UTF-8
   * @throws IllegalArgumentException if a percent sign is not followed by two hexadecimal digits
   */
  public static String decode(String text) {
    return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
  }
}
