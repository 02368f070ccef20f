// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.service;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** What a client gets for bytes that it sends as they are. Names of headers are in lower case. */
record RawAnswer(int status, Map<String, String> headers, String body) {

  private static final Duration PATIENCE = Duration.ofMinutes(1);

  /** Sends one request from an address of this machine. */
  static RawAnswer to(InetSocketAddress server, String from, String request) throws IOException {
    try (Socket socket = new Socket()) {
      socket.bind(new InetSocketAddress(InetAddress.getByName(from), 0));
      socket.connect(server);
      socket.setSoTimeout((int) PATIENCE.toMillis());
      socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      String answer = OneAnswer.read(socket.getInputStream());
      String[] parts = answer.split("\r\n\r\n", 2);
      Map<String, String> headers = new TreeMap<>();
      for (String line : parts[0].lines().skip(1).toList()) {
        int colon = line.indexOf(':');
        headers.merge(
            line.substring(0, colon).toLowerCase(Locale.ROOT),
            line.substring(colon + 1).strip(),
            (one, other) -> one + " AND " + other);
      }
      return new RawAnswer(Integer.parseInt(parts[0].split(" ", 3)[1]), headers, parts[1]);
    }
  }

  String header(String name) {
    return headers.getOrDefault(name, "");
  }
}
