// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.redis;

import java.util.List;

/** The number of concurrent calls to a subject. */
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
   * @param callers the number of threads that make blocking calls
   * @param outstanding the number of asynchronous calls that a single thread keeps in flight; used
   *     if {@code callers} is 0
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
