// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.web;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/**
 * A keep-alive HTTP/1.1 connection that sends several requests at once. If several requests have
 * arrived, the server handles most of them without waiting for input. Waking a waiting server
 * thread takes longer than running a filter, and its duration varies.
 */
final class Connection implements Work.Load, Closeable {

  static final String BODY = "page";

  /** The number of requests that are sent at once. */
  static final int TOGETHER = 16;

  private static final int ANSWER_WITHIN_MILLIS = 10_000;

  private static final byte[] REQUEST =
      "GET /page HTTP/1.1\r\nHost: x\r\nX-Api-Key: a\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1);
  private static final byte[] END = ("\r\n\r\n" + BODY).getBytes(StandardCharsets.ISO_8859_1);

  private final Socket socket;
  private final byte[] requests;
  private final byte[] buffer = new byte[16_384];

  /** The number of characters of {@link #END} that have been read. */
  private int matched;

  Connection(int port) throws IOException {
    socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.setTcpNoDelay(true);
    socket.setSoTimeout(
        ANSWER_WITHIN_MILLIS); // an error response does not contain END, so reading it times out
    ByteArrayOutputStream together = new ByteArrayOutputStream();
    for (int i = 0; i < TOGETHER; i++) {
      together.writeBytes(REQUEST);
    }
    requests = together.toByteArray();
  }

  @Override
  public void run(int times) throws IOException {
    for (int left = times; left > 0; left -= TOGETHER) {
      int next = Math.min(left, TOGETHER);
      socket.getOutputStream().write(requests, 0, next * REQUEST.length);
      awaitPages(next);
    }
  }

  private void awaitPages(int pages) throws IOException {
    InputStream in = socket.getInputStream();
    int left = pages;
    while (left > 0) {
      int read = in.read(buffer);
      if (read < 0) {
        throw new IOException("the server closed the connection");
      }
      for (int i = 0; i < read; i++) {
        if (buffer[i] == END[matched]) {
          matched++;
        } else {
          matched = buffer[i] == END[0] ? 1 : 0;
        }
        if (matched == END.length) {
          matched = 0;
          left--;
        }
      }
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
