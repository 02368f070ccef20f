package dev.sluice.store;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
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
 * What is hashed are the UTF-8 bytes of a key (IdBytes), so that an id given as bytes meets
 * the same id given as text.
 */

/**
 * A keyed hash of bucket keys, as a small mutable state that is used again and again by one thread.
 *
 * <p>Not thread-safe while it is fed; a state that is only {@linkplain #startFrom copied} may be
 * shared.
 */
final class SipHash {

  private static final VarHandle WORD =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

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

  /** Goes on from a kept state. */
  SipHash startFrom(SipHash state) {
    v0 = state.v0;
    v1 = state.v1;
    v2 = state.v2;
    v3 = state.v3;
    return this;
  }

  /** A whole bucket key, from its first byte: both messages. */
  SipHash key(byte[] bytes, int length) {
    int end = 0;
    while (end < length && bytes[end] != ':') {
      end++;
    }
    end = Math.min(end + 1, length);
    return message(bytes, 0, end).message(bytes, end, length);
  }

  /** One message: the bytes {@code from} to {@code to}. */
  SipHash message(byte[] bytes, int from, int to) {
    long w0 = v0;
    long w1 = v1;
    long w2 = v2;
    long w3 = v3;
    int at = from;
    boolean last;
    do {
      last = at + 8 > to;
      long word =
          last ? tail(bytes, at, to) | (long) (to - from) << 56 : (long) WORD.get(bytes, at);
      at += 8;
      w3 ^= word;
      w0 += w1;
      w1 = Long.rotateLeft(w1, 13) ^ w0;
      w0 = Long.rotateLeft(w0, 32);
      w2 += w3;
      w3 = Long.rotateLeft(w3, 16) ^ w2;
      w0 += w3;
      w3 = Long.rotateLeft(w3, 21) ^ w0;
      w2 += w1;
      w1 = Long.rotateLeft(w1, 17) ^ w2;
      w2 = Long.rotateLeft(w2, 32);
      w0 ^= word;
    } while (!last);
    v0 = w0;
    v1 = w1;
    v2 = w2;
    v3 = w3;
    return this;
  }

  /** The first 64 bits of the result, after the last message. */
  long first() {
    v2 ^= 0xee;
    return mixed();
  }

  /** The second 64 bits of the result, after {@link #first}. */
  long second() {
    v1 ^= 0xdd;
    return mixed();
  }

  private static long tail(byte[] bytes, int from, int to) {
    long word = 0;
    for (int at = to - 1; at >= from; at--) {
      word = word << 8 | (bytes[at] & 0xff);
    }
    return word;
  }

  private long mixed() {
    long w0 = v0;
    long w1 = v1;
    long w2 = v2;
    long w3 = v3;
    for (int i = 0; i < 3; i++) {
      w0 += w1;
      w1 = Long.rotateLeft(w1, 13) ^ w0;
      w0 = Long.rotateLeft(w0, 32);
      w2 += w3;
      w3 = Long.rotateLeft(w3, 16) ^ w2;
      w0 += w3;
      w3 = Long.rotateLeft(w3, 21) ^ w0;
      w2 += w1;
      w1 = Long.rotateLeft(w1, 17) ^ w2;
      w2 = Long.rotateLeft(w2, 32);
    }
    v0 = w0;
    v1 = w1;
    v2 = w2;
    v3 = w3;
    return w0 ^ w1 ^ w2 ^ w3;
  }
}
