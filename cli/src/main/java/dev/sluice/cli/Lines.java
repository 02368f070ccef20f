// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;

/**
 * The lines of a stream as they are: bytes in a buffer that the next line reuses. Bounded by the
 * longest line that is allowed, whatever the length of the stream. For one thread; {@link #next}
 * blocks as the stream does.
 */
final class Lines {

  static final int LONGEST = 1 << 20;

  private static final int FIRST_BUFFER = 1 << 16;

  private final InputStream in;
  private byte[] buffer = new byte[FIRST_BUFFER];
  private int start;
  private int length;
  private int filled;
  private int next;
  private long number;

  Lines(InputStream in) {
    this.in = in;
  }

  /**
   * Goes to the next line.
   *
   * @param beforeWaiting called before more is read, which may take long
   * @return false at the end
   * @throws InputException if the line is too long
   */
  boolean next(Runnable beforeWaiting) throws IOException {
    start = next;
    int scanned = start;
    while (true) {
      for (; scanned < filled; scanned++) {
        if (buffer[scanned] == '\n') {
          return line(scanned, scanned + 1);
        }
      }
      if (scanned - start > LONGEST) {
        throw new InputException(
            "line %1$s has more than %2$s bytes, %2$s are allowed".formatted(number + 1, LONGEST));
      }
      scanned -= makeRoom();
      beforeWaiting.run();
      int read = in.read(buffer, filled, buffer.length - filled);
      if (read < 0) {
        return filled > start && line(filled, filled);
      }
      filled += read;
    }
  }

  private boolean line(int end, int newNext) {
    length = end - start;
    next = newNext;
    number++;
    return true;
  }

  /** Moves the unfinished line to the front; returns by how far. */
  private int makeRoom() {
    int moved = start;
    if (moved > 0) {
      System.arraycopy(buffer, start, buffer, 0, filled - start);
      filled -= moved;
      start = 0;
      next = 0;
    }
    if (filled == buffer.length) {
      buffer = Arrays.copyOf(buffer, 2 * buffer.length);
    }
    return moved;
  }

  byte[] buffer() {
    return buffer;
  }

  int start() {
    return start;
  }

  int length() {
    return length;
  }

  /** The number of the line, from 1. */
  long number() {
    return number;
  }

  boolean isBlank() {
    for (int i = start; i < start + length; i++) {
      if (buffer[i] != ' ' && buffer[i] != '\t' && buffer[i] != '\r') {
        return false;
      }
    }
    return true;
  }
}
