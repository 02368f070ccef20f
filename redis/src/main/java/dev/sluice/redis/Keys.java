// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.remote.KeyBytes;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Bucket keys as Redis has them: a prefix, the key with its tag, in UTF-8. Immutable, thread-safe.
 *
 * @param prefix before every key, may be empty
 * @param tag the rule for the part that decides on the server
 */
record Keys(String prefix, HashTag tag) {

  byte[] bytes(String key) {
    return KeyBytes.utf8(prefix + tag.apply(key));
  }

  /** Returns the bucket key of a key in Redis; null if it is not one of these. */
  @Nullable String text(byte[] key) {
    String text = new String(key, StandardCharsets.UTF_8);
    return text.startsWith(prefix) ? tag.undo(text.substring(prefix.length())) : null;
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
