// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One connection that sends commands, or bytes, and reads replies of RESP2 and RESP3. */
final class RespClient implements AutoCloseable {

  private static final int PATIENCE_MILLIS = 60_000;

  private final Socket socket;
  private final DataInputStream in;

  RespClient(InetSocketAddress server) {
    try {
      this.socket = new Socket(InetAddress.getLoopbackAddress(), server.getPort());
      socket.setSoTimeout(PATIENCE_MILLIS);
      this.in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** An error reply. */
  record Failure(String text) {}

  /** One command and its reply. */
  @Nullable Object call(String... words) {
    return send(words).reply();
  }

  @CanIgnoreReturnValue
  RespClient send(String... words) {
    byte[][] bytes = new byte[words.length][];
    for (int i = 0; i < words.length; i++) {
      bytes[i] = words[i].getBytes(StandardCharsets.UTF_8);
    }
    return send(bytes);
  }

  @CanIgnoreReturnValue
  RespClient send(byte[]... words) {
    StringBuilder text = new StringBuilder("*" + words.length + "\r\n");
    for (byte[] word : words) {
      text.append('$').append(word.length).append("\r\n");
      text.append(new String(word, StandardCharsets.ISO_8859_1)).append("\r\n");
    }
    return raw(text.toString());
  }

  /** Sends the low bytes of the characters. */
  @CanIgnoreReturnValue
  RespClient raw(String bytes) {
    try {
      socket.getOutputStream().write(bytes.getBytes(StandardCharsets.ISO_8859_1));
      return this;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  void endOutput() {
    try {
      socket.shutdownOutput();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Nullable Object reply() {
    try {
      return read();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Whether the server has ended the connection, and said no more. */
  boolean isEnded() {
    try {
      return in.read() < 0;
    } catch (IOException e) {
      return true;
    }
  }

  private @Nullable Object read() throws IOException {
    char type = (char) in.readByte();
    String line = line();
    return switch (type) {
      case '+' -> line;
      case '-' -> new Failure(line);
      case ':' -> Long.valueOf(line);
      case '#' -> line.equals("t");
      case '_' -> null;
      case '$' -> bulk(Integer.parseInt(line));
      case '*' -> array(Integer.parseInt(line));
      case '%' -> map(Integer.parseInt(line));
      default -> throw new IOException("found a reply of type " + type);
    };
  }

  private String line() throws IOException {
    StringBuilder line = new StringBuilder();
    for (int c = in.read(); c != '\r'; c = in.read()) {
      if (c < 0) {
        throw new EOFException();
      }
      line.append((char) c);
    }
    in.readByte();
    return line.toString();
  }

  private @Nullable String bulk(int length) throws IOException {
    if (length < 0) {
      return null;
    }
    byte[] bytes = in.readNBytes(length + 2);
    return new String(bytes, 0, length, StandardCharsets.UTF_8);
  }

  private List<@Nullable Object> array(int count) throws IOException {
    List<@Nullable Object> array = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      array.add(read());
    }
    return array;
  }

  private Map<Object, @Nullable Object> map(int count) throws IOException {
    Map<Object, @Nullable Object> map = new LinkedHashMap<>();
    for (int i = 0; i < count; i++) {
      map.put(read(), read());
    }
    return map;
  }

  @Override
  public void close() {
    try {
      socket.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
