// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

/**
 * A superclass that puts 128 unused bytes in front of the fields of an object to which one thread
 * writes very often. A garbage collector can place objects of two threads next to each other in
 * memory. If the fields of both objects were in the same cache line, each write of one thread would
 * evict the line from the other thread's cache. The unused bytes fill two cache lines of 64 bytes,
 * since processors fetch lines in pairs.
 */
@SuppressWarnings({"unused", "UnusedVariable"}) // the fields only take up space
abstract class CacheLinePadding {

  private long r0;
  private long r1;
  private long r2;
  private long r3;
  private long r4;
  private long r5;
  private long r6;
  private long r7;
  private long r8;
  private long r9;
  private long r10;
  private long r11;
  private long r12;
  private long r13;
  private long r14;
  private long r15;
}
