// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

/**
 * Room in front of the fields of an object that one thread writes to for each id. A collector may
 * put such objects of two threads side by side. Where they share a line of the processor's cache,
 * each write takes that line away from the other thread. Two lines of 64 bytes, as processors fetch
 * them in pairs.
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
