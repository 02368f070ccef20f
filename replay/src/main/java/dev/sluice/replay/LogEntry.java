// SPDX-License-Identifier: Apache-2.0
package dev.sluice.replay;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One request of a log: the line, and the position of each column in the line. The object is reused
 * for later lines. Not thread-safe.
 */
final class LogEntry {

  private static final int ABSENT = -1;
  private static final int PADDING = Long.BYTES; // so that the hash function can read whole words
  private static final int SHORTEST = 256;
  private static final int MOST_UNUSED = 2; // the most by which a buffer is too large for its line

  private final LogFormat format;
  private int[] from;
  private int[] to;
  private byte[] bytes = new byte[SHORTEST]; // at least PADDING bytes longer than the line
  private int length;
  private long atNanos;
  private long status = -1;
  private boolean isRequest = true;
  private int[] hashed = {}; // the columns from which the hash was computed
  private long hash;

  LogEntry(LogFormat format) {
    this.format = format;
    this.from = new int[format.columns()];
    this.to = new int[format.columns()];
  }

  /**
   * Replaces the line. Until the new line is parsed, the positions of its columns are not known.
   */
  void take(byte[] line, int start, int newLength) {
    int needed = newLength + PADDING;
    int size = Math.max(SHORTEST, Integer.highestOneBit(needed) << 1);
    if (bytes.length < needed || bytes.length > MOST_UNUSED * size) {
      bytes = new byte[size];
    }
    System.arraycopy(line, start, bytes, 0, newLength);
    length = newLength;
    isRequest = true;
    if (from.length < format.columns()) { // a heading in the log added columns
      from = new int[format.columns()];
      to = new int[format.columns()];
    }
    Arrays.fill(from, ABSENT);
  }

  byte[] bytes() {
    return bytes;
  }

  int length() {
    return length;
  }

  void set(int column, int start, int end) {
    from[column] = start;
    to[column] = end;
  }

  /**
   * Sets the value of a column to a text that is not in the line, for example to a value without
   * its escapes.
   */
  void set(int column, String value) {
    byte[] text = value.getBytes(StandardCharsets.UTF_8);
    int needed = length + text.length + PADDING;
    if (bytes.length < needed) {
      bytes = Arrays.copyOf(bytes, Math.max(needed, 2 * bytes.length));
    }
    System.arraycopy(text, 0, bytes, length, text.length);
    set(column, length, length + text.length);
    length += text.length;
  }

  /**
   * Appends text to the value of a column. If the value is not the last value in the array, copies
   * the value to the end of the array first.
   */
  void append(int column, String more) {
    int start = from[column];
    if (to[column] == length) {
      set(column, more);
      from[column] = start;
    } else {
      set(column, new String(bytes, start, to[column] - start, StandardCharsets.UTF_8) + more);
    }
  }

  boolean has(int column) {
    return column >= 0 && column < from.length && from[column] >= 0;
  }

  /** Whether the line has a value other than "-". */
  boolean hasValue(int column) {
    return has(column) && (to[column] - from[column] != 1 || bytes[from[column]] != '-');
  }

  int start(int column) {
    return from[column];
  }

  int end(int column) {
    return to[column];
  }

  /**
   * Returns the text of a column; null if the line has no value for the column, or the value "-".
   */
  @Nullable String text(int column) {
    if (!hasValue(column)) {
      return null;
    }
    int start = from[column];
    return format.unescaped(new String(bytes, start, to[column] - start, StandardCharsets.UTF_8));
  }

  /** Returns a column as a number; -1 if the column is not a number. */
  long number(int column) {
    if (!has(column)) {
      return -1;
    }
    return TimeText.digits(bytes, from[column], to[column]);
  }

  /** Returns the time of the request, in nanoseconds since the epoch. */
  long atNanos() {
    return atNanos;
  }

  void at(long newAtNanos) {
    this.atNanos = newAtNanos;
  }

  /** Returns the response status; -1 if the line has none. */
  long status() {
    return status;
  }

  void status(long newStatus) {
    this.status = newStatus;
  }

  /** Returns whether the line is about a request, and not only about a connection. */
  boolean isRequest() {
    return isRequest;
  }

  void isRequest(boolean newIsRequest) {
    this.isRequest = newIsRequest;
  }

  /** Computes the hash of the values of some columns, for {@link #hash(int[])}. */
  void hashBy(int[] columns) {
    long ofValues = LogRequest.Key.hash(this, columns);
    this.hash = isRequest ? ofValues : ~ofValues;
    this.hashed = columns;
  }

  /** Returns the hash of the values of some columns. */
  long hash(int[] columns) {
    if (hashed != columns) {
      hashBy(columns);
    }
    return hash;
  }
}
