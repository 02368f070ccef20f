// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * The ids of requests, in the form in which a server receives them: each id is a string without a
 * cached hash, or an array of bytes. New ids are created outside of the measured time. Only one
 * thread can use this object.
 */
final class Requests {

  /**
   * The number of requests in one call of a limiter that can decide on several requests at once.
   */
  static final int TOGETHER = 32;

  private final String[] ids;
  private final byte[][] bytes;

  /**
   * Creates the object; {@link #replace} must be called before the first decision.
   *
   * @param size the number of requests, a multiple of {@link #TOGETHER}
   */
  Requests(int size) {
    ids = new String[size];
    bytes = new byte[size][];
  }

  int size() {
    return ids.length;
  }

  /**
   * Replaces the ids of all requests.
   *
   * @param keys chooses the keys
   * @param asBytes whether to create arrays of bytes instead of strings
   */
  void replace(Keys.Order keys, boolean asBytes) {
    for (int i = 0; i < ids.length; i++) {
      byte[] ascii = Keys.ascii(keys.next());
      if (asBytes) {
        bytes[i] = ascii;
      } else {
        ids[i] = new String(ascii, StandardCharsets.ISO_8859_1);
      }
    }
  }

  String[] ids() {
    return ids;
  }

  List<String> together(int from) {
    return Arrays.asList(ids).subList(from, from + TOGETHER);
  }

  byte[][] bytesTogether(int from) {
    return Arrays.copyOfRange(bytes, from, from + TOGETHER);
  }
}
