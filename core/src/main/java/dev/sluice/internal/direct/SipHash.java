// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/*
 * SipHash-1-3 (J.-P. Aumasson, D. J. Bernstein: SipHash, a fast short-input PRF) of a bucket key,
 * with one round per word and three final rounds. Several languages use the same hash for the keys
 * of their maps. Two values are computed from the final state: the value that SipHash defines, and
 * a second value that is linearly independent of the first value. Neither value ever leaves the
 * store, so nobody can compute the state from both values.
 *
 * A key is hashed as two messages, each padded with its length as in SipHash. The first message is
 * the part up to and including the first colon (the number of a limit). The second message is the
 * rest (the id). So the state after the first message can be computed once per limit and reused. A
 * key given as one string has the same hash as the stored state followed by the id. Different keys
 * never have the same padded messages: the first colon marks the end of the first message, and the
 * padding marks the end of the second message.
 *
 * The hash reads the UTF-8 bytes of a key (IdBytes), so an id given as bytes has the same hash as
 * the same id given as text.
 */

/**
 * A keyed hash of bucket keys: a small mutable state that one thread reuses.
 *
 * <p>Not thread-safe while messages are added. Several threads can share a state if they only
 * {@linkplain #message copy} it.
 */
public final class SipHash extends CacheLinePadding {

  private static final VarHandle WORD =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private long v0;
  private long v1;
  private long v2;
  private long v3;

  /** Creates a state with a key, before any message is added. */
  public SipHash(long key0, long key1) {
    v0 = key0 ^ 0x736f6d6570736575L;
    v1 = key1 ^ 0x646f72616e646f6dL;
    v2 = key0 ^ 0x6c7967656e657261L;
    v3 = key1 ^ 0x7465646279746573L;
  }

  /**
   * Hashes a whole bucket key, starting from a stored state.
   *
   * @param bytes an array with the key and at least 7 more bytes after the key
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
   * Copies another state to this state, and adds one message.
   *
   * @param state the state to copy; can be this object
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
   * Ends the hash after the last message. The code of a round is repeated here: the JIT would not
   * keep the state in registers if a round were a method.
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

  /** Returns the hash that SipHash defines; valid after a call of {@link #end}. */
  public long first() {
    return v0 ^ v1 ^ v2 ^ v3;
  }

  /**
   * Returns a second hash, which is linearly independent of {@link #first}; valid after a call of
   * {@link #end}.
   */
  public long second() {
    return v1 ^ v2;
  }
}
