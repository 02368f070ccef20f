// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import dev.sluice.server.resp.ErrorReplies.ProtocolException;
import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.FastThreadLocal;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;

/*
 * The reader copies bytes once, from the network's buffer to an array that all connections of a
 * thread share, and parses them there. A connection keeps only the bytes of an incomplete request.
 * When further bytes arrive, parsing continues where it stopped, so a client that sends one byte at
 * a time costs no more than other clients.
 *
 * Sluice does not use netty-codec-redis, because that library makes an object for each part of each
 * request, and accepts a million arguments and strings of 512 MB. The reasons for a reader of our
 * own are in docs/decisions.
 */

/**
 * Parses requests in the Redis protocol: arrays of bulk strings, or lines of words ("inline
 * commands"). Only the connection's thread may use a reader.
 */
final class RequestReader {

  /** The maximum number of arguments in a request, including the command's name. */
  static final int MAX_ARGUMENTS = 1024;

  /** The maximum size of an argument, in bytes. */
  static final int MAX_ARGUMENT = 16 << 10;

  /** The maximum size of a request, in bytes. */
  static final int MAX_REQUEST = 64 << 10;

  /** The maximum size of an inline command, in bytes. */
  static final int MAX_INLINE = 4 << 10;

  /** The maximum size of a header line, in bytes. */
  private static final int MAX_HEADER = 24;

  /** The number of digits of {@link #MAX_ARGUMENT}. */
  private static final int USUAL_DIGITS = 5;

  private static final byte[] NONE = new byte[0];
  private static final int UNKNOWN = -1;

  private static final FastThreadLocal<byte[]> SHARED =
      new FastThreadLocal<>() {
        @Override
        protected byte[] initialValue() {
          return new byte[MAX_REQUEST];
        }
      };

  private final Request request = new Request();
  private byte[] bytes = NONE;
  private int start; // start of the current request
  private int at; // end of the parsed part of the current request
  private int end;
  private int expected = UNKNOWN; // the number of arguments

  // The number and the CR position of the last header line that was read.
  private long number;
  private int headerEnd;

  /** Adds the bytes of a buffer, and releases the buffer. */
  void add(ByteBuf read) {
    int more = read.readableBytes();
    int kept = end - start;
    byte[] target = kept == 0 ? SHARED.get() : bytes;
    if (kept + more > target.length) {
      target = new byte[Math.max(kept + more, Math.min(2 * kept, MAX_REQUEST))];
    }
    if (kept > 0 && (target != bytes || start > 0)) {
      System.arraycopy(bytes, start, target, 0, kept);
    }
    read.readBytes(target, kept, more);
    read.release();
    at -= start;
    bytes = target;
    start = 0;
    end = kept + more;
  }

  /**
   * Copies the bytes of an incomplete request from the array that connections share to an array of
   * this connection. Call this method after all complete requests were parsed.
   */
  void keep() {
    int kept = end - start;
    if (kept == 0) {
      bytes = NONE;
    } else if (bytes == SHARED.get()) {
      bytes = Arrays.copyOfRange(bytes, start, end);
    } else {
      return;
    }
    at -= start;
    start = 0;
    end = kept;
  }

  /** Returns the size of the array that this reader keeps for bytes that are not yet parsed. */
  int heldBytes() {
    return start == end ? 0 : bytes.length;
  }

  /** Parses the next request; returns false if the next request is incomplete. */
  boolean next() throws ProtocolException {
    while (at < end) {
      if (expected == UNKNOWN) {
        if (bytes[start] != '*') {
          if (!readLine()) {
            return false;
          }
        } else if (!readCount()) {
          return false;
        }
      } else if (!readArguments()) {
        return false;
      }
      if (expected == request.count()) {
        handOver();
        return true;
      }
    }
    return false;
  }

  /** Returns the request that {@link #next} found; the next call overwrites it. */
  Request request() {
    return request;
  }

  private void handOver() {
    request.isAt(bytes, start);
    startAt(at);
  }

  private void startAt(int place) {
    start = place;
    at = place;
    expected = UNKNOWN;
  }

  /** Reads the number of arguments. Like Redis, ignores a request without arguments. */
  private boolean readCount() throws ProtocolException {
    if (!readHeader("too big mbulk count string", "invalid multibulk length")) {
      return false;
    }
    if (number > MAX_ARGUMENTS) {
      throw new ProtocolException(
          "found %s arguments, expected at most %s".formatted(number, MAX_ARGUMENTS));
    }
    request.clear();
    if (number <= 0) {
      startAt(headerEnd + 2);
    } else {
      at = headerEnd + 2;
      expected = (int) number;
    }
    return true;
  }

  private boolean readArguments() throws ProtocolException {
    while (request.count() < expected) {
      if (at == end) {
        return false;
      }
      if (bytes[at] != '$') {
        throw new ProtocolException("expected '$', got '%s'".formatted(shown(bytes[at])));
      }
      if (!readHeader("too big bulk count string", "invalid bulk length")) {
        return false;
      }
      long length = number;
      if (length < 0) {
        throw new ProtocolException("invalid bulk length");
      }
      if (length > MAX_ARGUMENT) {
        throw new ProtocolException(
            "found an argument of %s bytes, expected at most %s".formatted(length, MAX_ARGUMENT));
      }
      int from = headerEnd + 2;
      int to = from + (int) length;
      if (to + 2 - start > MAX_REQUEST) {
        throw new ProtocolException(
            "the request has more than %1$s bytes, %1$s are allowed".formatted(MAX_REQUEST));
      }
      if (to + 2 > end) {
        return false;
      }
      if (bytes[to] != '\r' || bytes[to + 1] != '\n') {
        throw new ProtocolException("expected CR and LF after a bulk string");
      }
      request.add(from - start, (int) length);
      at = to + 2;
    }
    return true;
  }

  /** Reads a header line; returns false if it is incomplete. */
  private boolean readHeader(String tooLong, String invalid) throws ProtocolException {
    if (readUsualHeader()) {
      return true;
    }
    int lineEnd = lineEnd(at, tooLong);
    if (lineEnd < 0) {
      return false;
    }
    number = number(at + 1, lineEnd, invalid);
    headerEnd = lineEnd;
    return true;
  }

  /** Reads a complete header line with at most {@value #USUAL_DIGITS} digits in one pass. */
  private boolean readUsualHeader() {
    int place = at + 1;
    int last = Math.min(end - 1, place + USUAL_DIGITS + 1); // the last possible position of the CR
    int value = 0;
    while (place < last && bytes[place] >= '0' && bytes[place] <= '9') {
      value = 10 * value + (bytes[place] - '0');
      place++;
    }
    if (place == at + 1 || place >= last || bytes[place] != '\r' || bytes[place + 1] != '\n') {
      return false;
    }
    number = value;
    headerEnd = place;
    return true;
  }

  /** Returns the position of the CR at the end of a header line; -1 if the line is incomplete. */
  private int lineEnd(int from, String tooLong) throws ProtocolException {
    int last = Math.min(end - 1, from + MAX_HEADER);
    for (int i = from; i < last; i++) {
      if (bytes[i] == '\r') {
        if (bytes[i + 1] != '\n') {
          throw new ProtocolException("expected LF after CR");
        }
        return i;
      }
    }
    if (end - from > MAX_HEADER) {
      throw new ProtocolException(tooLong);
    }
    return -1;
  }

  /** Parses a whole number of at most 18 digits. */
  private long number(int from, int to, String invalid) throws ProtocolException {
    boolean negative = from < to && bytes[from] == '-';
    int first = negative ? from + 1 : from;
    if (first == to || to - first > 18) {
      throw new ProtocolException(invalid);
    }
    long value = 0;
    for (int i = first; i < to; i++) {
      int digit = bytes[i] - '0';
      if (digit < 0 || digit > 9) {
        throw new ProtocolException(invalid);
      }
      value = 10 * value + digit;
    }
    return negative ? -value : value;
  }

  /** Reads an inline command: a line of words, as from telnet. Ignores an empty line. */
  private boolean readLine() throws ProtocolException {
    int lineEnd = at;
    while (lineEnd < end && bytes[lineEnd] != '\n') {
      lineEnd++;
    }
    if (lineEnd - start > MAX_INLINE) {
      throw new ProtocolException("too big inline request");
    }
    at = lineEnd; // there is no line end before this position
    if (lineEnd == end) {
      return false;
    }
    request.clear();
    boolean carriageReturn = lineEnd > start && bytes[lineEnd - 1] == '\r';
    split(start, carriageReturn ? lineEnd - 1 : lineEnd);
    if (request.count() == 0) {
      startAt(lineEnd + 1);
    } else {
      at = lineEnd + 1;
      expected = request.count();
    }
    return true;
  }

  /** Splits a line into words in the same way as redis-cli. Quoted words are unescaped in place. */
  private void split(int from, int to) throws ProtocolException {
    int i = from;
    while (true) {
      while (i < to && isBlank(bytes[i])) {
        i++;
      }
      if (i == to) {
        return;
      }
      if (request.count() == MAX_ARGUMENTS) {
        throw new ProtocolException(
            "the request has more than %s arguments".formatted(MAX_ARGUMENTS));
      }
      int word = i;
      int written = i;
      while (i < to && !isBlank(bytes[i])) {
        byte quote = bytes[i];
        if (quote == '"' || quote == '\'') {
          i++;
          while (i < to && bytes[i] != quote) {
            int taken = quote == '"' ? escaped(i, to) : escapedQuote(i, to);
            bytes[written++] = taken < 0 ? bytes[i] : (byte) taken;
            i += taken < 0 ? 1 : escapeLength(i, quote);
          }
          if (i == to || (i + 1 < to && !isBlank(bytes[i + 1]))) {
            throw new ProtocolException("unbalanced quotes in request");
          }
          i++;
        } else {
          bytes[written++] = bytes[i++];
        }
      }
      request.add(word - start, written - word);
    }
  }

  private static boolean isBlank(byte b) {
    return b == ' ' || b == '\t' || b == '\r' || b == '\n' || b == 0x0b || b == '\f';
  }

  /**
   * Returns the byte that an escape sequence in double quotes represents, 0 to 255; -1 if there is
   * no escape sequence.
   */
  private int escaped(int i, int to) {
    if (bytes[i] != '\\' || i + 1 == to) {
      return -1;
    }
    if (isHexEscape(i)) {
      return Character.digit(bytes[i + 2], 16) << 4 | Character.digit(bytes[i + 3], 16);
    }
    return switch (bytes[i + 1]) {
      case 'n' -> '\n';
      case 'r' -> '\r';
      case 't' -> '\t';
      case 'b' -> '\b';
      case 'a' -> 0x07;
      default -> bytes[i + 1] & 0xFF;
    };
  }

  private int escapedQuote(int i, int to) {
    return bytes[i] == '\\' && i + 1 < to && bytes[i + 1] == '\'' ? '\'' : -1;
  }

  private int escapeLength(int i, byte quote) {
    return quote == '"' && isHexEscape(i) ? 4 : 2;
  }

  private boolean isHexEscape(int i) {
    return i + 3 < end
        && bytes[i + 1] == 'x'
        && Character.digit(bytes[i + 2], 16) >= 0
        && Character.digit(bytes[i + 3], 16) >= 0;
  }

  private static String shown(byte b) {
    return b >= ' ' && b < 0x7f
        ? new String(new byte[] {b}, StandardCharsets.US_ASCII)
        : String.format(Locale.ROOT, "\\x%02x", b & 0xFF);
  }
}
