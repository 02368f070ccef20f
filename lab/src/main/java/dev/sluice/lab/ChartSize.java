// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

/** The sizes of charts for wide screens and for phones. */
enum ChartSize {
  WIDE(880, 58, 150, 8),
  NARROW(360, 48, 110, 4);

  private static final int MOST_COLUMNS = 3;

  final int width;
  final int left;
  final int plotHeight;
  private final int mostTimeTicks;

  ChartSize(int width, int left, int plotHeight, int mostTimeTicks) {
    this.width = width;
    this.left = left;
    this.plotHeight = plotHeight;
    this.mostTimeTicks = mostTimeTicks;
  }

  /** How many panels stand side by side. */
  int columns(int panels) {
    if (this == NARROW) {
      return 1;
    }
    return panels == 4 ? 2 : Math.min(panels, MOST_COLUMNS);
  }

  int timeTicks(int columns) {
    return columns == 1 ? mostTimeTicks : columns == 2 ? 5 : 4;
  }

  String text() {
    return this == WIDE ? "wide" : "narrow";
  }
}
