// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Reads texts in UTF-8: the resources of Sluice's modules, and percent-encoded parts of URIs. */
public final class Utf8 {

  private Utf8() {}

  /**
   * Returns the text of a resource, and closes the resource.
   *
   * @param in the resource, opened by a class of the resource's own module; null if it is missing
   * @param name the resource's name, for a message
   */
  public static String ofResource(@Nullable InputStream in, String name) {
    if (in == null) {
      throw new IllegalStateException("the resource " + name + " is missing");
    }
    try (in) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Decodes a percent-encoded part of a URI (RFC 3986), in which a plus sign is an ordinary
   * character.
   *
   * @param text the part, with {@code %41} for {@code A}
   * @return the decoded text, read as UTF-8
   * @throws IllegalArgumentException if a percent sign is not followed by two hexadecimal digits
   */
  public static String ofPercentEncoding(String text) {
    return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
  }
}
