// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * Requests as a server receives them: each id as a text without a cached hash, or as bytes from the
 * network. New requests are made outside of the measured time. For one thread.
 */
final class Requests {

  /** How many requests are decided together, if a subject can. */
  static final int TOGETHER = 32;

  private final String[] ids;
  private final byte[][] bytes;

  /**
   * Creates requests without ids.
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
   * Replaces all requests.
   *
   * @param keys picks the keys
   * @param asBytes whether to make bytes instead of texts
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
