// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * The hash xxHash with 64 bits and seed 0. Boulder's ring places keys with this hash. Pure.
 *
 * @see <a href="https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md">the specification
 *     of xxHash</a>
 */
final class XxHash64 {

  private static final long P1 = 0x9E3779B185EBCA87L;
  private static final long P2 = 0xC2B2AE3D27D4EB4FL;
  private static final long P3 = 0x165667B19E3779F9L;
  private static final long P4 = 0x85EBCA77C2B2AE63L;
  private static final long P5 = 0x27D4EB2F165667C5L;

  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle INTS =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  private XxHash64() {}

  static long hash(byte[] in) {
    int at = 0;
    long hash = P5;
    if (in.length >= 32) {
      long a = 0x60EA27EEADC0B5D6L; // P1 + P2
      long b = P2;
      long c = 0;
      long d = -P1;
      for (; at + 32 <= in.length; at += 32) {
        a = round(a, (long) LONGS.get(in, at));
        b = round(b, (long) LONGS.get(in, at + 8));
        c = round(c, (long) LONGS.get(in, at + 16));
        d = round(d, (long) LONGS.get(in, at + 24));
      }
      hash =
          Long.rotateLeft(a, 1)
              + Long.rotateLeft(b, 7)
              + Long.rotateLeft(c, 12)
              + Long.rotateLeft(d, 18);
      hash = merge(merge(merge(merge(hash, a), b), c), d);
    }
    hash += in.length;
    for (; at + 8 <= in.length; at += 8) {
      hash = Long.rotateLeft(hash ^ round(0, (long) LONGS.get(in, at)), 27) * P1 + P4;
    }
    if (at + 4 <= in.length) {
      hash = Long.rotateLeft(hash ^ (((int) INTS.get(in, at) & 0xffff_ffffL) * P1), 23) * P2 + P3;
      at += 4;
    }
    for (; at < in.length; at++) {
      hash = Long.rotateLeft(hash ^ ((in[at] & 0xff) * P5), 11) * P1;
    }
    hash = (hash ^ (hash >>> 33)) * P2;
    hash = (hash ^ (hash >>> 29)) * P3;
    return hash ^ (hash >>> 32);
  }

  private static long round(long accumulator, long lane) {
    return Long.rotateLeft(accumulator + lane * P2, 31) * P1;
  }

  private static long merge(long hash, long accumulator) {
    return (hash ^ round(0, accumulator)) * P1 + P4;
  }
}
