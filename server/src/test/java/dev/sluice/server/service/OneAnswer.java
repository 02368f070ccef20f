// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads an HTTP/1.1 answer as clients do: as many bytes as its {@code Content-Length} says. The end
 * of the connection may come half a second later, as the server leaves it to the client.
 */
final class OneAnswer {

  private static final Pattern LENGTH =
      Pattern.compile("\r\nContent-Length: *(\\d+)\r\n", Pattern.CASE_INSENSITIVE);
  private static final String END_OF_HEADERS = "\r\n\r\n";

  private OneAnswer() {}

  /** The whole answer; what there is of it where the connection ends earlier. */
  static String read(InputStream in) throws IOException {
    ByteArrayOutputStream head = new ByteArrayOutputStream();
    for (int next = in.read(); next >= 0; next = in.read()) {
      head.write(next);
      if (next == '\n' && head.toString(StandardCharsets.UTF_8).endsWith(END_OF_HEADERS)) {
        break;
      }
    }
    String headers = head.toString(StandardCharsets.UTF_8);
    Matcher length = LENGTH.matcher(headers);
    byte[] body =
        length.find() ? in.readNBytes(Integer.parseInt(length.group(1))) : in.readAllBytes();
    return headers + new String(body, StandardCharsets.UTF_8);
  }
}
