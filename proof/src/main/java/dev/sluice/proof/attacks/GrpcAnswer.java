// SPDX-License-Identifier: Apache-2.0
package dev.sluice.proof.attacks;

import dev.sluice.proof.Http2Frames;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersDecoder;
import java.nio.ByteBuffer;

/**
 * The part of the response to the first gRPC call that an HTTP/2 connection has received so far.
 *
 * @param ended whether the stream or the connection has ended
 * @param status the call's {@code grpc-status}; empty if none was received
 * @param reason the error code of a GOAWAY; 0 if none was received
 */
record GrpcAnswer(boolean ended, String status, int reason) {

  private static final int STREAM = 1;

  /** Parses frames. Ignores the last frame if it is incomplete. */
  static GrpcAnswer of(byte[] answer, int length) {
    Http2HeadersDecoder decoder = new DefaultHttp2HeadersDecoder();
    String status = "";
    int at = 0;
    while (at + Http2Frames.FRAME_HEADER <= length) {
      ByteBuffer header = ByteBuffer.wrap(answer, at, Http2Frames.FRAME_HEADER);
      int size = header.getInt() >>> 8;
      int type = answer[at + 3];
      int flags = header.get();
      boolean isCalls = header.getInt() == STREAM;
      int payload = at + Http2Frames.FRAME_HEADER;
      at = payload + size;
      if (at > length) {
        break;
      }
      if (type == Http2Frames.GOAWAY && size >= 2 * Integer.BYTES) {
        int reason = ByteBuffer.wrap(answer, payload + Integer.BYTES, Integer.BYTES).getInt();
        return new GrpcAnswer(true, status, reason);
      }
      if (type == Http2Frames.HEADERS && isCalls) {
        status = status(answer, payload, size, decoder, status);
      }
      boolean canEnd = type == Http2Frames.HEADERS || type == Http2Frames.DATA;
      if (canEnd && isCalls && (flags & Http2Frames.END_STREAM) != 0) {
        return new GrpcAnswer(true, status, 0);
      }
    }
    return new GrpcAnswer(false, status, 0);
  }

  private static String status(
      byte[] answer, int start, int size, Http2HeadersDecoder decoder, String before) {
    try {
      Http2Headers headers =
          decoder.decodeHeaders(STREAM, Unpooled.wrappedBuffer(answer, start, size));
      CharSequence status = headers.get("grpc-status");
      return status == null ? before : status.toString();
    } catch (Http2Exception e) {
      return before; // invalid headers contain no status
    }
  }

  /**
   * Whether the server rejected the call: with an error status, or with a GOAWAY that has an error
   * code.
   */
  boolean isError() {
    return reason != 0 || (ended && !status.isEmpty() && !status.equals("0"));
  }
}
