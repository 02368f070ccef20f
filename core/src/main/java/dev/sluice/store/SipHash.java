package dev.sluice.store;

import java.security.SecureRandom;

/*
 * SipHash-1-3 with 128 bits of result (J.-P. Aumasson, D. J. Bernstein: SipHash, a fast short-input
 * PRF; the 128-bit form and the 1-3 rounds as in the authors' reference code), over a bucket key.
 *
 * A key is hashed as two messages, each padded with its length as SipHash pads one: the part up to
 * and with the first colon (the number of a limit), then the rest (the id). So a limit's own part
 * can be hashed once and its state be kept, and the key as one string gives the same result as the
 * kept state with the id. Two keys never give the same blocks: the first colon marks where the first
 * message ends, and the padding where the second does.
 *
 * Characters beyond ASCII count as their UTF-8 bytes (an unpaired surrogate as three bytes, so that
 * none is lost), for an id given as bytes to meet the same id given as text.
 */

/**
 * A keyed hash of bucket keys, as a small mutable state. It is made for a moment on one thread: the
 * compiler keeps it in registers, and nothing is allocated.
 *
 * <p>Not thread-safe while it is fed; a state that is only {@linkplain #SipHash(SipHash) copied}
 * may be shared.
 */
final class SipHash {

  private static final int ASCII = 0x80;

  private long v0;
  private long v1;
  private long v2;
  private long v3;

  /** A state with a new random key. */
  static SipHash randomlyKeyed() {
    SecureRandom random = new SecureRandom();
    return new SipHash(random.nextLong(), random.nextLong());
  }

  SipHash(long key0, long key1) {
    v0 = key0 ^ 0x736f6d6570736575L;
    v1 = key1 ^ 0x646f72616e646f6dL ^ 0xee;
    v2 = key0 ^ 0x6c7967656e657261L;
    v3 = key1 ^ 0x7465646279746573L;
  }

  SipHash(SipHash state) {
    v0 = state.v0;
    v1 = state.v1;
    v2 = state.v2;
    v3 = state.v3;
  }

  /** A whole bucket key: both messages. */
  SipHash key(String key) {
    int end = key.indexOf(':') + 1;
    if (end == 0) {
      return message(key, 0, key.length()).message("", 0, 0);
    }
    return message(key, 0, end).message(key, end, key.length());
  }

  /** One message: the characters {@code from} to {@code to} of a text. */
  SipHash message(CharSequence text, int from, int to) {
    long start0 = v0;
    long start1 = v1;
    long start2 = v2;
    long start3 = v3;
    int seen = 0;
    int at = from;
    for (; at + 8 <= to; at += 8) {
      long word = 0;
      for (int i = 0; i < 8; i++) {
        char c = text.charAt(at + i);
        seen |= c;
        word |= (long) c << (8 * i);
      }
      block(word);
    }
    long word = (long) (to - from) << 56;
    for (int i = 0; at + i < to; i++) {
      char c = text.charAt(at + i);
      seen |= c;
      word |= (long) c << (8 * i);
    }
    if (seen < ASCII) {
      block(word);
      return this;
    }
    v0 = start0;
    v1 = start1;
    v2 = start2;
    v3 = start3;
    byte[] bytes = Utf8.encode(text, from, to);
    return message(bytes, 0, bytes.length);
  }

  /** One message: the bytes {@code from} to {@code to} of an array. */
  SipHash message(byte[] bytes, int from, int to) {
    int at = from;
    for (; at + 8 <= to; at += 8) {
      block(word(bytes, at, 8));
    }
    block(word(bytes, at, to - at) | (long) (to - from) << 56);
    return this;
  }

  /** One message: the decimal digits of a number, as text would be. */
  SipHash message(long number) {
    if (number < 0) {
      String text = Long.toString(number);
      return message(text, 0, text.length());
    }
    int length = digits(number);
    long word = 0;
    long high = 0; // digits 9 to 16 from the left, then 17 to 19
    long last = 0;
    long rest = number;
    for (int i = length - 1; i >= 0; i--) {
      long digit = '0' + rest % 10;
      rest /= 10;
      if (i < 8) {
        word |= digit << (8 * i);
      } else if (i < 16) {
        high |= digit << (8 * (i - 8));
      } else {
        last |= digit << (8 * (i - 16));
      }
    }
    long padding = (long) length << 56;
    if (length < 8) {
      block(word | padding);
    } else if (length < 16) {
      block(word);
      block(high | padding);
    } else {
      block(word);
      block(high);
      block(last | padding);
    }
    return this;
  }

  /** Ends the hash: mixes the state, so that both results can be taken. */
  SipHash end() {
    v2 ^= 0xee;
    round();
    round();
    round();
    return this;
  }

  /** The first 64 bits of the result; after {@link #end}. */
  long first() {
    return v0 ^ v1 ^ v2 ^ v3;
  }

  /** The second 64 bits of the result; once, after {@link #first}. */
  long second() {
    v1 ^= 0xdd;
    round();
    round();
    round();
    return v0 ^ v1 ^ v2 ^ v3;
  }

  private static long word(byte[] bytes, int from, int length) {
    long word = 0;
    for (int i = 0; i < length; i++) {
      word |= (bytes[from + i] & 0xffL) << (8 * i);
    }
    return word;
  }

  private static int digits(long number) {
    int digits = 1;
    for (long rest = number; rest >= 10; rest /= 10) {
      digits++;
    }
    return digits;
  }

  private void block(long word) {
    v3 ^= word;
    round();
    v0 ^= word;
  }

  private void round() {
    v0 += v1;
    v1 = Long.rotateLeft(v1, 13) ^ v0;
    v0 = Long.rotateLeft(v0, 32);
    v2 += v3;
    v3 = Long.rotateLeft(v3, 16) ^ v2;
    v0 += v3;
    v3 = Long.rotateLeft(v3, 21) ^ v0;
    v2 += v1;
    v1 = Long.rotateLeft(v1, 17) ^ v2;
    v2 = Long.rotateLeft(v2, 32);
  }
}
