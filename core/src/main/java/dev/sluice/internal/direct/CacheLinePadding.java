// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.direct;

/**
 * Unused space in front of the fields of an object that one thread writes to for each id. A garbage
 * collector can place such objects of two threads next to each other. If they share a line of the
 * processor's cache, each write of one thread takes the line away from the other thread. The space
 * has two lines of 64 bytes, since processors fetch lines in pairs.
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
