// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.servers;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Sends one command to a RESP2 server without a client library. Blocks. */
final class RespCall {

  private static final int TIMEOUT_MILLIS = 90_000; // longer than a test lets a server wait

  private RespCall() {}

  /** Sends a command, after a login if there is a password, and returns the reply. */
  static @Nullable Object ask(int port, @Nullable String password, String... words) {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(TIMEOUT_MILLIS);
      DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
      if (password != null) {
        send(socket.getOutputStream(), "AUTH", password);
        read(in);
      }
      send(socket.getOutputStream(), words);
      return read(in);
    } catch (IOException e) {
      throw new IllegalStateException("no reply from port " + port + ": " + e.getMessage(), e);
    }
  }

  private static void send(OutputStream out, String... words) throws IOException {
    StringBuilder header = new StringBuilder("*" + words.length + "\r\n");
    for (String word : words) {
      int length = word.getBytes(StandardCharsets.UTF_8).length;
      header.append('$').append(length).append("\r\n").append(word).append("\r\n");
    }
    out.write(header.toString().getBytes(StandardCharsets.UTF_8));
    out.flush();
  }

  @CanIgnoreReturnValue
  private static @Nullable Object read(DataInputStream in) throws IOException {
    char type = (char) in.readByte();
    String line = line(in);
    return switch (type) {
      case '+' -> line;
      case '-' -> throw new IllegalStateException(line);
      case ':' -> Long.valueOf(line);
      case '$' -> bulk(in, Integer.parseInt(line));
      case '*' -> array(in, Integer.parseInt(line));
      default -> throw new IOException("found a reply of type " + type);
    };
  }

  private static String line(DataInputStream in) throws IOException {
    StringBuilder line = new StringBuilder();
    for (char c = (char) in.readByte(); c != '\r'; c = (char) in.readByte()) {
      line.append(c);
    }
    in.readByte();
    return line.toString();
  }

  private static @Nullable String bulk(DataInputStream in, int length) throws IOException {
    if (length < 0) {
      return null;
    }
    byte[] bytes = new byte[length];
    in.readFully(bytes);
    in.skipBytes(2);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static List<@Nullable Object> array(DataInputStream in, int length) throws IOException {
    List<@Nullable Object> array = new ArrayList<>();
    for (int i = 0; i < length; i++) {
      array.add(read(in));
    }
    return array;
  }
}
