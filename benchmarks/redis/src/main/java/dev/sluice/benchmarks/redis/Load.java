// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import java.util.List;

/** The concurrency with which a subject is called. */
enum Load {
  ONE("1 caller", 1, 0),
  SIXTEEN("16", 16, 0),
  SIXTY_FOUR("64", 64, 0),
  MANY("asynchronous, 1024", 0, 1_024),
  EIGHT_CALLS("8 calls under way", 0, 8);

  static final List<Load> BLOCKING = List.of(ONE, SIXTEEN, SIXTY_FOUR);
  static final List<Load> ALL = List.of(ONE, SIXTEEN, SIXTY_FOUR, MANY);

  private final String title;
  private final int callers;
  private final int outstanding;

  /**
   * Creates a load.
   *
   * @param callers threads with one blocking call each
   * @param outstanding asynchronous calls in flight of one thread, if there are no callers
   */
  Load(String title, int callers, int outstanding) {
    this.title = title;
    this.callers = callers;
    this.outstanding = outstanding;
  }

  String title() {
    return title;
  }

  int callers() {
    return callers;
  }

  int outstanding() {
    return outstanding;
  }
}
