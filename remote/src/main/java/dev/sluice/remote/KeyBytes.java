// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Bucket keys as bytes. Stateless, thread-safe. */
public final class KeyBytes {

  private KeyBytes() {}

  /**
   * UTF-8, in which a surrogate without its pair stays what it is, instead of becoming a question
   * mark: two different keys must never be one bucket.
   */
  public static byte[] utf8(String text) {
    if (!hasLoneSurrogate(text)) {
      return text.getBytes(StandardCharsets.UTF_8);
    }
    byte[] bytes = new byte[text.length() * 3];
    int length = 0;
    for (int i = 0; i < text.length(); i++) {
      // Any char takes three bytes here, so that lone surrogates keep their value.
      char c = text.charAt(i);
      bytes[length++] = (byte) (0xe0 | (c >> 12));
      bytes[length++] = (byte) (0x80 | ((c >> 6) & 0x3f));
      bytes[length++] = (byte) (0x80 | (c & 0x3f));
    }
    return Arrays.copyOf(bytes, length);
  }

  private static boolean hasLoneSurrogate(String text) {
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (Character.isHighSurrogate(c)
          && i + 1 < text.length()
          && Character.isLowSurrogate(text.charAt(i + 1))) {
        i++;
      } else if (Character.isSurrogate(c)) {
        return true;
      }
    }
    return false;
  }
}
