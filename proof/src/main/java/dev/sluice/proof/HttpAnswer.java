// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/**
 * An HTTP response.
 *
 * @param headers the values of the headers, by the name in lower case; with HTTP/2, also of the
 *     trailers
 * @param body the body, as one character per byte
 */
public record HttpAnswer(int status, Map<String, String> headers, String body) {

  private static final int HEX = 16;

  /** Reads an HTTP/1.1 response. */
  public static HttpAnswer read(Connection from) throws IOException {
    String first = from.line();
    String[] words = first.split(" ", -1);
    if (!words[0].equals("HTTP/1.1") || words.length < 2) {
      throw new IOException("unexpected response: " + first);
    }
    Map<String, String> headers = new HashMap<>();
    for (String line = from.line(); !line.isEmpty(); line = from.line()) {
      int colon = line.indexOf(':');
      headers.put(
          line.substring(0, colon).toLowerCase(Locale.ROOT), line.substring(colon + 1).strip());
    }
    byte[] bytes =
        headers.getOrDefault("transfer-encoding", "").contains("chunked")
            ? chunks(from)
            : from.read(Integer.parseInt(headers.getOrDefault("content-length", "0")));
    return new HttpAnswer(Integer.parseInt(words[1]), Map.copyOf(headers), text(bytes));
  }

  private static byte[] chunks(Connection from) throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    int length = Integer.parseInt(from.line(), HEX);
    while (length > 0) {
      all.writeBytes(from.read(length));
      String unused = from.line();
      length = Integer.parseInt(from.line(), HEX);
    }
    String unused = from.line();
    return all.toByteArray();
  }

  /** Returns the value of a header; empty if the header is absent. */
  public String header(String name) {
    return headers.getOrDefault(name, "");
  }

  static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.ISO_8859_1);
  }

  /** Returns whether the response announces that the server closes the connection. */
  public boolean closes() {
    return header("connection").contains("close");
  }

  @Override
  public String toString() {
    return status + " " + body;
  }
}
