// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.http;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;

/** One connection that sends bytes as a test wants them, and reads only when the test does. */
final class RawClient implements AutoCloseable {

  static final int DATA = 0;
  static final int HEADERS = 1;
  static final int RST_STREAM = 3;
  static final int WINDOW_UPDATE = 8;

  private static final int PATIENCE_MILLIS = 60_000;
  private static final int SMALL_BUFFER = 4096;
  private static final int ANY_STREAM = -1;

  private final Socket socket = new Socket();
  private InputStream in = InputStream.nullInputStream();

  private RawClient() {}

  static RawClient connect(InetSocketAddress server) {
    return connect(server, "127.0.0.1");
  }

  /** Connects from one of the addresses of loopback. */
  static RawClient connect(InetSocketAddress server, String from) {
    RawClient client = new RawClient();
    try {
      client.socket.setReceiveBufferSize(SMALL_BUFFER); // what is not read stays with the server
      client.socket.bind(new InetSocketAddress(InetAddress.getByName(from), 0));
      client.socket.connect(server);
      client.socket.setSoTimeout(PATIENCE_MILLIS);
      client.in = new BufferedInputStream(client.socket.getInputStream());
      return client;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @CanIgnoreReturnValue
  RawClient send(String text) throws IOException {
    return send(text.getBytes(StandardCharsets.US_ASCII));
  }

  @CanIgnoreReturnValue
  RawClient send(byte[] bytes) throws IOException {
    socket.getOutputStream().write(bytes);
    return this;
  }

  /** The status and headers of the next answer, its body dropped; empty if the server hung up. */
  String answer() {
    StringBuilder head = new StringBuilder();
    int length = 0;
    try {
      for (String line = line(); !line.isEmpty(); line = line()) {
        head.append(line).append('\n');
        if (line.toLowerCase(Locale.ROOT).startsWith("content-length:")) {
          length = Integer.parseInt(line.substring(line.indexOf(':') + 1).strip());
        }
      }
      return in.readNBytes(length).length == length ? head.toString() : "";
    } catch (IOException e) {
      return "";
    }
  }

  /** All that comes until the server hangs up. */
  String all() throws IOException {
    return new String(in.readAllBytes(), StandardCharsets.UTF_8);
  }

  private String line() throws IOException {
    StringBuilder line = new StringBuilder();
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0) {
        throw new IOException("the server hung up");
      }
      if (c != '\r') {
        line.append((char) c);
      }
    }
    return line.toString();
  }

  /** Whether the server hangs up before it sends anything, within the patience. */
  boolean isHungUpOn() {
    try {
      return in.read() < 0;
    } catch (SocketTimeoutException e) {
      return false;
    } catch (IOException e) {
      return true; // reset
    }
  }

  /** Reads and drops frames of HTTP/2 until one of a type comes; its payload. */
  byte[] frame(int type) throws IOException {
    return frameUnless(-1, type);
  }

  /** The same for the frames of one stream. */
  byte[] frameOf(int stream, int type) throws IOException {
    return frameUnless(-1, type, stream);
  }

  /** The same; fails where one of another type comes before. */
  byte[] frameUnless(int wrong, int type) throws IOException {
    return frameUnless(wrong, type, ANY_STREAM);
  }

  private byte[] frameUnless(int wrong, int type, int stream) throws IOException {
    while (true) {
      ByteBuffer header = ByteBuffer.wrap(in.readNBytes(9));
      if (header.remaining() < 9) {
        throw new IOException("the server hung up");
      }
      int length = (header.get() & 0xff) << 16 | (header.getShort() & 0xffff);
      byte[] payload = in.readNBytes(length);
      byte found = header.get();
      header.get(); // flags
      boolean fits = stream == ANY_STREAM || stream == header.getInt();
      if (found == wrong) {
        throw new IOException("a frame of type " + found);
      }
      if (found == type && fits) {
        return payload;
      }
    }
  }

  /** The preface and settings of HTTP/2, with a window for each response. */
  static byte[] http2(int window) {
    ByteBuffer setting = ByteBuffer.allocate(6).putShort((short) 4).putInt(window);
    byte[] settings = frame(4, 0, 0, setting.array());
    byte[] preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
    return ByteBuffer.allocate(preface.length + settings.length).put(preface).put(settings).array();
  }

  /** The headers of a request over HTTP/2. */
  static byte[] http2Get(int stream, String path) {
    byte[] host = "localhost".getBytes(StandardCharsets.US_ASCII);
    byte[] bytes = path.getBytes(StandardCharsets.US_ASCII);
    ByteBuffer block = ByteBuffer.allocate(6 + host.length + bytes.length);
    block.put((byte) 0x82).put((byte) 0x86); // GET, http
    block.put((byte) 0x01).put((byte) host.length).put(host);
    block.put((byte) 0x04).put((byte) bytes.length).put(bytes);
    return frame(HEADERS, 5, stream, block.array());
  }

  /** The headers of a request without a body over HTTP/2, by any method. */
  static byte[] http2Request(int stream, String method, String path) {
    ByteArrayOutputStream block = new ByteArrayOutputStream();
    block.write(0x02);
    block.writeBytes(literal(method));
    block.write(0x86); // http
    block.write(0x01);
    block.writeBytes(literal("localhost"));
    block.write(0x04);
    block.writeBytes(literal(path));
    return frame(HEADERS, 5, stream, block.toByteArray());
  }

  /** The headers of a probe over HTTP/2, with names and values in turn. */
  static byte[] http2Probe(int stream, String... headers) {
    ByteArrayOutputStream block = new ByteArrayOutputStream();
    block.write(0x82); // GET
    block.write(0x86); // http
    block.write(0x04);
    block.writeBytes(literal("/healthz"));
    for (int i = 0; i < headers.length; i += 2) {
      block.write(0x00);
      block.writeBytes(literal(headers[i]));
      block.writeBytes(literal(headers[i + 1]));
    }
    return frame(HEADERS, 5, stream, block.toByteArray());
  }

  /** The status in the headers of an answer over HTTP/2. */
  static int statusOf(byte[] headers) {
    int first = headers[0] & 0xff;
    if (first >= 0x88 && first <= 0x8e) { // indexed, RFC 7541, appendix A
      return List.of(200, 204, 206, 304, 400, 404, 500).get(first - 0x88);
    }
    // a literal whose name is indexed
    return Integer.parseInt(new String(headers, 2, 3, StandardCharsets.US_ASCII));
  }

  /** The headers of a request over HTTP/2 whose body follows, from a page of another origin. */
  static byte[] http2Post(int stream, String path, String origin, String... more) {
    ByteArrayOutputStream block = new ByteArrayOutputStream();
    block.write(0x83); // POST
    block.write(0x86); // http
    block.write(0x01);
    block.writeBytes(literal("localhost"));
    block.write(0x04);
    block.writeBytes(literal(path));
    block.write(0x00);
    block.writeBytes(literal("origin"));
    block.writeBytes(literal(origin));
    for (int i = 0; i < more.length; i += 2) {
      block.write(0x00);
      block.writeBytes(literal(more[i]));
      block.writeBytes(literal(more[i + 1]));
    }
    return frame(HEADERS, 4, stream, block.toByteArray());
  }

  private static byte[] literal(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
    return ByteBuffer.allocate(1 + bytes.length).put((byte) bytes.length).put(bytes).array();
  }

  static byte[] frame(int type, int flags, int stream, byte[] payload) {
    return ByteBuffer.allocate(9 + payload.length)
        .put((byte) (payload.length >>> 16))
        .putShort((short) payload.length)
        .put((byte) type)
        .put((byte) flags)
        .putInt(stream)
        .put(payload)
        .array();
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
