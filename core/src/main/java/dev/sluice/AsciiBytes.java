package dev.sluice;

import java.nio.charset.StandardCharsets;

/** Bytes seen as text, each as one character: what is not ASCII is no plain character of any id. */
final class AsciiBytes implements CharSequence {

  private final byte[] bytes;

  AsciiBytes(byte[] bytes) {
    this.bytes = bytes;
  }

  @Override
  public int length() {
    return bytes.length;
  }

  @Override
  public char charAt(int index) {
    return (char) (bytes[index] & 0xff);
  }

  @Override
  public CharSequence subSequence(int start, int end) {
    return toString().substring(start, end);
  }

  @Override
  public String toString() {
    return new String(bytes, StandardCharsets.ISO_8859_1);
  }
}
