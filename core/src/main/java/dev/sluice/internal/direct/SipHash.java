// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/*
 * SipHash-1-3 (J.-P. Aumasson, D. J. Bernstein: SipHash, a fast short-input PRF; one round a word
 * and three at the end, as several languages hash their maps' keys), over a bucket key. Two folds
 * of the final state are taken: the usual one, and another that is linearly independent of it.
 * Nobody outside ever sees either, so what a second fold would tell of the state is told to no one.
 *
 * A key is hashed as two messages, each padded with its length as SipHash pads one. The first is
 * the part up to and including the first colon (the number of a limit). The second is the rest (the
 * id). So a limit's own part can be hashed once, and its state be kept. The key as one string gives
 * the same result as the kept state with the id. Two keys never give the same blocks: the first
 * colon marks where the first message ends, and the padding where the second does.
 *
 * It hashes the UTF-8 bytes of a key (IdBytes), so that an id given as bytes meets
 * the same id given as text.
 */

/**
 * A keyed hash of bucket keys, as a small mutable state that one thread reuses.
 *
 * <p>Not thread-safe while it is fed; a state that others only {@linkplain #message go on from} may
 * be shared.
 */
public final class SipHash extends CacheLinePadding {

  private static final VarHandle WORD =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private long v0;
  private long v1;
  private long v2;
  private long v3;

  /**
   * Makes the state of a keyed hash before any message.
   *
   * @param key0 the first half of the secret
   * @param key1 the second half of the secret
   */
  public SipHash(long key0, long key1) {
    v0 = key0 ^ 0x736f6d6570736575L;
    v1 = key1 ^ 0x646f72616e646f6dL;
    v2 = key0 ^ 0x6c7967656e657261L;
    v3 = key1 ^ 0x7465646279746573L;
  }

  /**
   * Hashes a whole bucket key, from its first byte, starting from a stored state.
   *
   * @param state the stored state
   * @param bytes the key, after which the array has 7 more bytes
   * @param length how many bytes the key has
   * @return this builder
   */
  public SipHash key(SipHash state, byte[] bytes, int length) {
    int end = 0;
    while (end < length && bytes[end] != ':') {
      end++;
    }
    end = Math.min(end + 1, length);
    return message(state, bytes, 0, end).message(this, bytes, end, length);
  }

  /**
   * Sets this state to another one plus one more message: the bytes {@code from} to {@code to},
   * after which the array must have 7 more bytes.
   *
   * @param state the state to start from, which may be this one
   * @param bytes the message
   * @param from its first byte
   * @param to the byte after its last one
   * @return this builder
   */
  public SipHash message(SipHash state, byte[] bytes, int from, int to) {
    long w0 = state.v0;
    long w1 = state.v1;
    long w2 = state.v2;
    long w3 = state.v3;
    int at = from;
    boolean last;
    do {
      last = at + 8 > to;
      long word = (long) WORD.get(bytes, at);
      if (last) {
        word = (word & ((1L << (8 * (to - at))) - 1)) | (long) (to - from) << 56;
      }
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

  /**
   * Ends the hash, after the last message. (The round stands twice: a method could not keep it in
   * registers.)
   *
   * @return this builder
   */
  @CanIgnoreReturnValue
  public SipHash end() {
    long w0 = v0;
    long w1 = v1;
    long w2 = v2 ^ 0xff;
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
    return this;
  }

  /**
   * Returns the result of SipHash, after {@link #end}.
   *
   * @return 64 bits
   */
  public long first() {
    return v0 ^ v1 ^ v2 ^ v3;
  }

  /**
   * Returns another fold of the state, after {@link #end}.
   *
   * @return 64 bits
   */
  public long second() {
    return v1 ^ v2;
  }
}
