// SPDX-License-Identifier: Apache-2.0
package dev.sluice.servlet;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** Sends bytes as they are: what a polite client refuses to send, an attacker sends. */
final class RawHttp {

  private RawHttp() {}

  /** The whole response to a GET, with its status line. */
  static String get(int port, String target, String... headerLines) throws IOException {
    return send(port, "GET " + target + " HTTP/1.1", headerLines);
  }

  /** The whole response to a request without a body. */
  static String send(int port, String start, String... headerLines) throws IOException {
    StringBuilder request = new StringBuilder(start + "\r\nHost: x\r\nContent-Length: 0\r\n");
    for (String line : headerLines) {
      request.append(line).append("\r\n");
    }
    request.append("Connection: close\r\n\r\n");
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.getOutputStream().write(request.toString().getBytes(StandardCharsets.ISO_8859_1));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  /**
   * The whole response to a GET whose body has chunks: a body that ends with its connection has no
   * trailers.
   */
  static String getChunked(int port, String target, String... headerLines) throws IOException {
    String head = String.join("\r\n", headerLines) + (headerLines.length == 0 ? "" : "\r\n");
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      String request = "GET " + target + " HTTP/1.1\r\nHost: x\r\n" + head + "\r\n";
      socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
      StringBuilder response = new StringBuilder();
      while (response.indexOf("\r\n0\r\n") < 0
          || response.lastIndexOf("\r\n\r\n") != response.length() - 4) {
        int next = socket.getInputStream().read();
        if (next < 0) {
          throw new IOException("the response ended early: " + response);
        }
        response.append((char) next);
      }
      return response.toString();
    }
  }
}
