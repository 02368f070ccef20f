// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.resp;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Writes replies in RESP2 or RESP3. In RESP2, as in Redis, a map becomes an array of keys and
 * values, and a boolean becomes 1 or 0. Only one thread may use a writer.
 */
final class ReplyWriter {

  private static final int USUAL_SIZE = 4 << 10;
  private static final int LONGEST_NUMBER = 20;
  private static final int MOST_DIGITS = 19; // the most digits of a 64-bit number
  private static final byte[] TENS = new byte[100]; // the first digit of 00 to 99
  private static final byte[] ONES = new byte[100]; // the second digit of 00 to 99
  private static final byte[] OK = "+OK\r\n".getBytes(StandardCharsets.US_ASCII);

  static {
    for (int i = 0; i < TENS.length; i++) {
      TENS[i] = (byte) ('0' + i / 10);
      ONES[i] = (byte) ('0' + i % 10);
    }
  }

  private byte[] bytes = new byte[USUAL_SIZE];
  private int size;
  private boolean resp3;

  void resp3(boolean wanted) {
    resp3 = wanted;
  }

  int size() {
    return size;
  }

  /** Appends all written bytes to a buffer, and removes them from this writer. */
  void moveTo(ByteBuf target) {
    target.writeBytes(bytes, 0, size);
    size = 0;
    if (bytes.length > RequestReader.MAX_REQUEST) {
      bytes = new byte[USUAL_SIZE];
    }
  }

  void ok() {
    room(OK.length);
    System.arraycopy(OK, 0, bytes, size, OK.length);
    size += OK.length;
  }

  /** Writes a simple string, which must be ASCII without line ends. */
  void simple(String text) {
    put('+');
    ascii(text);
    lineEnd();
  }

  /** Writes an error. Characters that could end the line are replaced by blanks. */
  void error(String code, String text) {
    put('-');
    ascii(code);
    put(' ');
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    room(utf8.length);
    for (byte b : utf8) {
      boolean control = (b >= 0 && b < ' ') || b == 0x7f;
      bytes[size++] = control ? (byte) ' ' : b;
    }
    lineEnd();
  }

  void number(long value) {
    header(':', value);
  }

  void flag(boolean value) {
    if (resp3) {
      put('#');
      put(value ? 't' : 'f');
      lineEnd();
    } else {
      number(value ? 1 : 0);
    }
  }

  void text(String text) {
    byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
    text(utf8, 0, utf8.length);
  }

  void text(byte[] utf8) {
    text(utf8, 0, utf8.length);
  }

  void text(byte[] source, int start, int length) {
    header('$', length);
    room(length);
    System.arraycopy(source, start, bytes, size, length);
    size += length;
    lineEnd();
  }

  void nothing() {
    ascii(resp3 ? "_\r\n" : "$-1\r\n");
  }

  void array(int count) {
    header('*', count);
  }

  void map(int count) {
    if (resp3) {
      header('%', count);
    } else {
      header('*', 2L * count);
    }
  }

  private void header(char type, long value) {
    room(LONGEST_NUMBER + 3);
    bytes[size++] = (byte) type;
    if (value < 0 || value > 9) {
      digits(value);
    } else {
      bytes[size++] = (byte) ('0' + value);
    }
    bytes[size++] = '\r';
    bytes[size++] = '\n';
  }

  /** Writes a number from the last digit to the first, two digits per division. */
  private void digits(long value) {
    long rest = value;
    if (value < 0) {
      bytes[size++] = '-';
    } else {
      rest = -value;
    }
    size += digitsOf(rest);
    int place = size;
    while (rest <= -10) {
      long hundreds = rest / 100;
      int pair = (int) (100 * hundreds - rest);
      bytes[--place] = ONES[pair];
      bytes[--place] = TENS[pair];
      rest = hundreds;
    }
    if (rest < 0) {
      bytes[--place] = (byte) ('0' - rest);
    }
  }

  private static int digitsOf(long negative) {
    int digits = 1;
    for (long power = -10; negative <= power && digits < MOST_DIGITS; power *= 10) {
      digits++;
    }
    return digits;
  }

  private void ascii(String text) {
    room(text.length());
    for (int i = 0; i < text.length(); i++) {
      bytes[size++] = (byte) text.charAt(i);
    }
  }

  private void put(char c) {
    room(1);
    bytes[size++] = (byte) c;
  }

  private void lineEnd() {
    room(2);
    bytes[size++] = '\r';
    bytes[size++] = '\n';
  }

  private void room(int more) {
    if (bytes.length - size < more) {
      bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, size + more));
    }
  }
}
