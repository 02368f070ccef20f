// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Percent escapes of logs. Stateless. */
final class WebText {

  private static final int HEX = 16;

  private WebText() {}

  /** The text with each {@code %XX} decoded; what is no escape stays. */
  static String decoded(String text) {
    if (text.indexOf('%') < 0) {
      return text;
    }
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    ByteArrayOutputStream plain = new ByteArrayOutputStream(bytes.length);
    for (int i = 0; i < bytes.length; i++) {
      int high = i + 2 < bytes.length ? Character.digit(bytes[i + 1], HEX) : -1;
      int low = high < 0 ? -1 : Character.digit(bytes[i + 2], HEX);
      if (bytes[i] == '%' && low >= 0) {
        plain.write(high * HEX + low);
        i += 2;
      } else {
        plain.write(bytes[i]);
      }
    }
    return plain.toString(StandardCharsets.UTF_8);
  }
}
