// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.remote.KeyBytes;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Writes bucket keys as keys in Redis: a prefix and the bucket key with its tag, in UTF-8.
 * Immutable, thread-safe.
 *
 * @param prefix the text before every key; can be empty
 * @param tag the rule for the part of a key that selects the server
 */
record Keys(String prefix, HashTag tag) {

  byte[] bytes(String key) {
    return KeyBytes.utf8(prefix + tag.apply(key));
  }

  /**
   * Returns the bucket key for a key in Redis; null if the Redis key is not a key of this store.
   */
  @Nullable String text(byte[] key) {
    String text = new String(key, StandardCharsets.UTF_8);
    return text.startsWith(prefix) ? tag.undo(text.substring(prefix.length())) : null;
  }

  /**
   * Returns the part of a key that selects its server: the text in the first braces, or the whole
   * key.
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
