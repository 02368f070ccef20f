// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import dev.sluice.proof.Http2Frames;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * One HTTP/2 connection of an attacker, with as many streams as the server allows. Each stream
 * sends an endless body in pieces of a given size, as far as flow control allows. When a stream has
 * ended, a new stream replaces it. A stream ends with the response of the server. If the attacker
 * reads no responses, a stream ends when the server resets it.
 */
final class Http2Bodies implements AutoCloseable {

  private static final int BODY = 1 << 20;
  private static final int READ_BUFFER = 1 << 16;
  private static final int WINDOW_MASK = 0x7fff_ffff;
  private static final int SETTING_BYTES = 6;
  private static final int NEW_STREAMS_AT_ONCE = 16;

  private final HostileConnection peer;
  private final String path;
  private final String mediaType;
  private final byte[] piece;
  private final int bodyBytes;
  private final boolean reads;
  private final ByteBuffer in = ByteBuffer.allocate(READ_BUFFER);
  private final Map<Integer, Stream> streams = new LinkedHashMap<>();
  private int connectionWindow = Http2Frames.DEFAULT_WINDOW;
  private int initialWindow = Http2Frames.DEFAULT_WINDOW;
  private int maxStreams = NEW_STREAMS_AT_ONCE;
  private int nextStream = 1;

  private static final class Stream {
    private int window;
    private int sent;
  }

  /**
   * Sends the HTTP/2 preface.
   *
   * @param pieceBytes the size of the pieces of a body
   */
  Http2Bodies(HostileConnection peer, String path, String mediaType, int pieceBytes) {
    this(peer, path, mediaType, new byte[pieceBytes], BODY, true);
  }

  private Http2Bodies(
      HostileConnection peer,
      String path,
      String mediaType,
      byte[] piece,
      int bodyBytes,
      boolean reads) {
    this.peer = peer;
    this.path = path;
    this.mediaType = mediaType;
    this.piece = piece;
    this.bodyBytes = bodyBytes;
    this.reads = reads;
    peer.send(Http2Frames.greeting(reads ? Http2Frames.DEFAULT_WINDOW : 0));
  }

  /**
   * Sends the HTTP/2 preface on a connection that never reads a response.
   *
   * @param piece the piece of a body that is sent repeatedly, until {@code bodyBytes} were sent
   */
  static Http2Bodies unread(
      HostileConnection peer, String path, String mediaType, byte[] piece, int bodyBytes) {
    return new Http2Bodies(peer, path, mediaType, piece, bodyBytes, false);
  }

  boolean isBroken() {
    return peer.isBroken();
  }

  /**
   * Sends as many bytes as flow control and the network allow without waiting. Returns whether
   * bytes were sent.
   */
  boolean pump() {
    read();
    if (!peer.isIdle()) {
      return peer.pump();
    }
    for (int i = 0; i < NEW_STREAMS_AT_ONCE && streams.size() < maxStreams; i++) {
      Stream stream = new Stream();
      stream.window = initialWindow;
      streams.put(nextStream, stream);
      peer.send(Http2Frames.post(nextStream, path, mediaType));
      nextStream += 2;
    }
    for (Map.Entry<Integer, Stream> entry : streams.entrySet()) {
      Stream stream = entry.getValue();
      int next = Math.min(piece.length, bodyBytes - stream.sent);
      if (next > 0 && stream.window >= next && connectionWindow >= next) {
        peer.send(
            Http2Frames.frame(Http2Frames.DATA, 0, entry.getKey(), Arrays.copyOf(piece, next)));
        stream.sent += next;
        stream.window -= next;
        connectionWindow -= next;
      }
    }
    return peer.pump();
  }

  private void read() {
    if (peer.read(in) <= 0) {
      return;
    }
    in.flip();
    while (in.remaining() >= Http2Frames.FRAME_HEADER) {
      int start = in.position();
      int length = (in.get() & 0xff) << 16 | (in.getShort() & 0xffff);
      if (in.limit() - start < Http2Frames.FRAME_HEADER + length) {
        in.position(start);
        break;
      }
      int type = in.get();
      int flags = in.get();
      int stream = in.getInt() & WINDOW_MASK;
      ByteBuffer payload = in.slice(in.position(), length);
      in.position(in.position() + length);
      obey(type, flags, stream, payload);
    }
    in.compact();
  }

  private void obey(int type, int flags, int stream, ByteBuffer payload) {
    switch (type) {
      case Http2Frames.SETTINGS -> {
        while ((flags & Http2Frames.ACK) == 0 && payload.remaining() >= SETTING_BYTES) {
          int id = payload.getShort();
          int value = payload.getInt();
          if (id == Http2Frames.INITIAL_WINDOW_SIZE) {
            initialWindow = value;
          } else if (id == Http2Frames.MAX_CONCURRENT_STREAMS) {
            maxStreams = value;
          }
        }
        if ((flags & Http2Frames.ACK) == 0) {
          peer.send(Http2Frames.frame(Http2Frames.SETTINGS, Http2Frames.ACK, 0, new byte[0]));
        }
      }
      case Http2Frames.WINDOW_UPDATE -> {
        int more = payload.getInt() & WINDOW_MASK;
        Stream known = streams.get(stream);
        if (stream == 0) {
          connectionWindow += more;
        } else if (known != null) {
          known.window += more;
        }
      }
      case Http2Frames.HEADERS -> {
        if (reads) {
          streams.remove(stream);
        }
      }
      case Http2Frames.RST_STREAM -> streams.remove(stream);
      default -> {}
    }
  }

  @Override
  public void close() {
    peer.close();
  }
}
