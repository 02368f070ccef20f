// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** Converts bucket keys to bytes. Stateless, thread-safe. */
public final class KeyBytes {

  private KeyBytes() {}

  /**
   * Returns the text in UTF-8. If the text has an unpaired surrogate, every char is encoded as
   * three bytes. The JDK's encoder would replace every unpaired surrogate by a question mark, and
   * different keys would share a bucket.
   */
  public static byte[] utf8(String text) {
    if (!hasLoneSurrogate(text)) {
      return text.getBytes(StandardCharsets.UTF_8);
    }
    byte[] bytes = new byte[text.length() * 3];
    int length = 0;
    for (int i = 0; i < text.length(); i++) {
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
