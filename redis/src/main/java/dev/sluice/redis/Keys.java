// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Bucket keys as Redis has them: a prefix, the key with its tag, in UTF-8. Immutable, thread-safe.
 *
 * @param prefix before every key, may be empty
 * @param tag the rule for the part that decides on the server
 */
record Keys(String prefix, HashTag tag) {

  byte[] bytes(String key) {
    return utf8(prefix + tag.apply(key));
  }

  /**
   * UTF-8, in which a surrogate without its pair stays what it is, instead of becoming a question
   * mark: two different keys must never be one bucket.
   */
  private static byte[] utf8(String text) {
    if (!hasLoneSurrogate(text)) {
      return text.getBytes(StandardCharsets.UTF_8);
    }
    byte[] bytes = new byte[text.length() * 3];
    int length = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i); // three bytes for each, also for halves of pairs and for letters
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

  /**
   * The part of a key that decides on its server: what stands in its first braces, or all of it.
   */
  static byte[] tagOf(byte[] key) {
    int open = indexOf(key, '{', 0);
    int close = open < 0 ? -1 : indexOf(key, '}', open + 1);
    return close <= open + 1 ? key : Arrays.copyOfRange(key, open + 1, close);
  }

  private static int indexOf(byte[] key, char wanted, int from) {
    for (int i = from; i < key.length; i++) {
      if (key[i] == wanted) {
        return i;
      }
    }
    return -1;
  }
}
