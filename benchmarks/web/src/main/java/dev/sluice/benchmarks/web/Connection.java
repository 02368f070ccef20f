// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.web;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * One connection over HTTP/1.1 that stays open: a request leaves when its predecessor is answered.
 */
final class Connection implements Subject.Load, Closeable {

  static final String BODY = "page";

  private static final byte[] REQUEST =
      "GET /page HTTP/1.1\r\nHost: x\r\nX-Api-Key: a\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1);
  private static final byte[] OK = "HTTP/1.1 200".getBytes(StandardCharsets.ISO_8859_1);
  private static final byte[] END = ("\r\n\r\n" + BODY).getBytes(StandardCharsets.ISO_8859_1);

  private final Socket socket;
  private final byte[] buffer = new byte[4096];

  Connection(int port) throws IOException {
    socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.setTcpNoDelay(true);
  }

  @Override
  public void run(int times) throws IOException {
    InputStream in = socket.getInputStream();
    for (int i = 0; i < times; i++) {
      socket.getOutputStream().write(REQUEST);
      int length = 0;
      while (!endsAt(length)) {
        int read = in.read(buffer, length, buffer.length - length);
        if (read < 0) {
          throw new IOException("the server closed the connection");
        }
        length += read;
      }
      if (!Arrays.equals(buffer, 0, OK.length, OK, 0, OK.length)) {
        throw new IOException(new String(buffer, 0, length, StandardCharsets.ISO_8859_1));
      }
    }
  }

  private boolean endsAt(int length) {
    int from = length - END.length;
    return from > 0 && Arrays.equals(buffer, from, length, END, 0, END.length);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
