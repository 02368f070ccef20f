package dev.sluice.lab;

/** For a screen on a desk, and for one in a hand. */
enum ChartSize {
  WIDE(880, 58, 92, 8),
  NARROW(360, 44, 78, 4);

  final int width;
  final int left;
  final int plotHeight;
  final int mostTimeTicks;

  ChartSize(int width, int left, int plotHeight, int mostTimeTicks) {
    this.width = width;
    this.left = left;
    this.plotHeight = plotHeight;
    this.mostTimeTicks = mostTimeTicks;
  }

  String text() {
    return this == WIDE ? "wide" : "narrow";
  }
}
