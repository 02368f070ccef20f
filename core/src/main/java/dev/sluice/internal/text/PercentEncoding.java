// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;

/** Percent encoding as URIs use it (RFC 3986), where a plus sign means itself. Pure. */
public final class PercentEncoding {

  private PercentEncoding() {}

  /**
   * Decodes a part of a URI.
   *
   * @param text the part, with {@code %41} for {@code A}
   * @return the text in UTF-8; a plus sign stays one, other than in a form
   * @throws IllegalArgumentException if a percent sign has not two hexadecimal digits behind it
   */
  public static String decode(String text) {
    return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
  }
}
