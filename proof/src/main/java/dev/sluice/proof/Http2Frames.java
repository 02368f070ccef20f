// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Encodes valid and invalid HTTP/2 frames. */
public final class Http2Frames {

  public static final int FRAME_HEADER = 9;
  public static final int DATA = 0;
  public static final int HEADERS = 1;
  public static final int RST_STREAM = 3;
  public static final int SETTINGS = 4;
  public static final int GOAWAY = 7;
  public static final int WINDOW_UPDATE = 8;
  public static final int END_STREAM = 1;
  public static final int ACK = 1;
  public static final int INITIAL_WINDOW_SIZE = 4;
  public static final int MAX_CONCURRENT_STREAMS = 3;
  public static final int DEFAULT_WINDOW = 65_535;
  public static final int LARGEST_FRAME = 16_384;

  static final int GRPC_PREFIX = 5;
  private static final int END_HEADERS = 4;
  private static final int SETTING_BYTES = 6;

  private Http2Frames() {}

  public static byte[] preface() {
    return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
  }

  public static byte[] frame(int type, int flags, int stream, byte[] payload) {
    return ByteBuffer.allocate(FRAME_HEADER + payload.length)
        .put((byte) (payload.length >>> 16))
        .putShort((short) payload.length)
        .put((byte) type)
        .put((byte) flags)
        .putInt(stream)
        .put(payload)
        .array();
  }

  /**
   * Returns the preface and a settings frame. The settings limit each response to a flow-control
   * window of {@code responseWindow} bytes.
   */
  public static byte[] greeting(int responseWindow) {
    byte[] setting =
        ByteBuffer.allocate(SETTING_BYTES)
            .putShort((short) INITIAL_WINDOW_SIZE)
            .putInt(responseWindow)
            .array();
    return joined(preface(), frame(SETTINGS, 0, 0, setting));
  }

  public static byte[] get(int stream, String path) {
    return frame(HEADERS, END_HEADERS | END_STREAM, stream, block(0x82, path));
  }

  /**
   * Returns the header frame of a POST request. The caller must send frames with the body after the
   * header frame.
   */
  public static byte[] post(int stream, String path, String mediaType) {
    byte[] type = text(mediaType);
    // A literal header field; index 31 in HPACK's static table is the name content-type.
    byte[] contentType = joined(new byte[] {0x0f, 0x10}, type);
    return frame(HEADERS, END_HEADERS, stream, joined(block(0x83, path), contentType));
  }

  private static byte[] block(int method, String path) {
    return joined(
        new byte[] {(byte) method, (byte) 0x86, 0x01},
        text("localhost"),
        new byte[] {0x04},
        text(path));
  }

  private static byte[] text(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
    return joined(new byte[] {(byte) bytes.length}, bytes);
  }

  /**
   * Encodes a gRPC message. {@code length} is the length written before the message, which can
   * differ from the real length.
   */
  public static byte[] grpcMessage(int length, byte[] message) {
    return ByteBuffer.allocate(GRPC_PREFIX + message.length)
        .put((byte) 0)
        .putInt(length)
        .put(message)
        .array();
  }

  public static byte[] joined(byte[]... parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.writeBytes(part);
    }
    return all.toByteArray();
  }
}
