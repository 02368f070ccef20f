// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** A blocking connection to the server, with or without TLS. Not thread-safe. */
public final class Connection implements AutoCloseable {

  private final Socket socket;
  private final InputStream in;

  Connection(Socket socket) throws IOException {
    this.socket = socket;
    this.in = new BufferedInputStream(socket.getInputStream());
  }

  /** Returns the bytes of a text, one byte per character. */
  public static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  /** Sets how long a read can take before it times out. */
  public void setPatience(int millis) throws IOException {
    socket.setSoTimeout(millis);
  }

  public void write(byte[] bytes) throws IOException {
    socket.getOutputStream().write(bytes);
  }

  public void write(String text) throws IOException {
    write(ascii(text));
  }

  /** Closes the sending side of the connection, as a client can do after its last request. */
  public void endOutput() throws IOException {
    socket.shutdownOutput();
  }

  /** Reads a byte; returns -1 at the end of the connection. */
  public int read() throws IOException {
    return in.read();
  }

  /**
   * Waits for at least one byte, and reads all available bytes. Returns how many bytes were read,
   * or -1 at the end of the connection.
   */
  public int readSome(byte[] into, int from) throws IOException {
    return in.read(into, from, into.length - from);
  }

  /** Reads exactly {@code length} bytes. */
  public byte[] read(int length) throws IOException {
    byte[] bytes = in.readNBytes(length);
    if (bytes.length < length) {
      throw new EOFException(
          length > 0 && bytes.length == 0
              ? "the connection was closed without a response"
              : "the connection was closed inside a response");
    }
    return bytes;
  }

  /**
   * Reads a line, and returns it without its line break; returns null if the connection ended
   * before the line.
   */
  public @Nullable String lineOrEnd() throws IOException {
    StringBuilder line = new StringBuilder();
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0 && line.isEmpty()) {
        return null;
      }
      if (c < 0) {
        throw new EOFException("the connection was closed inside a line");
      }
      if (c != '\r') {
        line.append((char) c);
      }
    }
    return line.toString();
  }

  /**
   * Reads a line, and returns it without its line break. Throws if the connection ended before a
   * line arrived.
   */
  public String line() throws IOException {
    String line = lineOrEnd();
    if (line == null) {
      throw new EOFException("the connection was closed without a response");
    }
    return line;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
