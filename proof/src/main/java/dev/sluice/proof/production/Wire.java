// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.production;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;

/** A connection as bytes, encrypted or not. Not thread-safe; it blocks, for a minute at most. */
final class Wire implements AutoCloseable {

  private static final int PATIENCE_MILLIS = 60_000;

  private final Socket socket;
  private final InputStream in;

  private Wire(Socket socket) throws IOException {
    this.socket = socket;
    this.in = new BufferedInputStream(socket.getInputStream());
  }

  /**
   * Connects.
   *
   * @param trust trusts the server's certificates; null for a connection without TLS
   * @param protocol what is spoken within TLS, such as {@code h2}
   */
  static Wire open(int port, @Nullable SSLContext trust, String protocol) throws IOException {
    Socket plain = new Socket(InetAddress.getLoopbackAddress(), port);
    try {
      plain.setSoTimeout(PATIENCE_MILLIS);
      plain.setTcpNoDelay(true);
      return new Wire(trust == null ? plain : encrypted(plain, port, trust, protocol));
    } catch (IOException e) {
      plain.close();
      throw e;
    }
  }

  private static SSLSocket encrypted(Socket plain, int port, SSLContext trust, String protocol)
      throws IOException {
    SSLSocket socket =
        (SSLSocket) trust.getSocketFactory().createSocket(plain, "localhost", port, true);
    SSLParameters parameters = socket.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    if (!protocol.isEmpty()) {
      parameters.setApplicationProtocols(new String[] {protocol});
    }
    socket.setSSLParameters(parameters);
    socket.startHandshake();
    return socket;
  }

  void write(byte[] bytes) throws IOException {
    socket.getOutputStream().write(bytes);
  }

  /** A byte, or -1 at the end. */
  int read() throws IOException {
    return in.read();
  }

  byte[] read(int length) throws IOException {
    byte[] bytes = in.readNBytes(length);
    if (bytes.length < length) {
      throw new EOFException("closed amid an answer");
    }
    return bytes;
  }

  /** A line without its end; null where the connection has ended before it. */
  @Nullable String line() throws IOException {
    StringBuilder line = new StringBuilder();
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0 && line.isEmpty()) {
        return null;
      }
      if (c < 0) {
        throw new EOFException("closed amid a line");
      }
      if (c != '\r') {
        line.append((char) c);
      }
    }
    return line.toString();
  }

  static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
