// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * Some requests, as a server has them: the id of each as a text that nobody has hashed yet, or as
 * the bytes that came from the network. New ones are made outside of the measured time. For one
 * thread.
 */
final class Requests {

  /** How many are decided on together, where a subject can. */
  static final int TOGETHER = 32;

  private final String[] ids;
  private final byte[][] bytes;

  /**
   * Requests without ids.
   *
   * @param size how many, a multiple of {@link #TOGETHER}
   */
  Requests(int size) {
    ids = new String[size];
    bytes = new byte[size][];
  }

  int size() {
    return ids.length;
  }

  /**
   * Replaces all.
   *
   * @param keys says which key is asked for next
   * @param asBytes as bytes instead of texts
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
