// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import java.io.PrintWriter;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * One line on a terminal that says how far a long run is, and is gone when it has ended. Prints
 * nothing if standard error is not a terminal, or if the run ends at once. For one thread.
 */
final class ProgressLine {

  private static final String TERMINAL = "sluice.terminal"; // said by the launcher
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);
  private static final long BETWEEN_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
  private static final int CELLS = 30;

  private final PrintWriter err;
  private final boolean watched;
  private final LongSupplier ticker;
  private long drawnNanos;
  private int drawnLength;

  ProgressLine(PrintWriter err) {
    this(err, Boolean.getBoolean(TERMINAL), System::nanoTime);
  }

  ProgressLine(PrintWriter err, boolean watched, LongSupplier ticker) {
    this.err = err;
    this.watched = watched;
    this.ticker = ticker;
    // As if drawn a moment ahead: the first line comes when patience is at an end.
    this.drawnNanos = ticker.getAsLong() + PATIENCE_NANOS - BETWEEN_NANOS;
  }

  /** Prints the progress, 0 to 1, unless it was printed a moment ago. */
  void at(String what, double share) {
    long now = ticker.getAsLong();
    if (!watched || now - drawnNanos < BETWEEN_NANOS) {
      return;
    }
    drawnNanos = now;
    int full = (int) (share * CELLS);
    String line =
        String.format(
            Locale.ROOT,
            "[%s%s] %3d %% %s",
            "#".repeat(full),
            "-".repeat(CELLS - full),
            (int) (100 * share),
            what);
    draw(line);
  }

  void clear() {
    if (drawnLength > 0) {
      draw("");
      err.print('\r');
      err.flush();
    }
  }

  private void draw(String line) {
    err.print('\r');
    err.print(line);
    err.print(" ".repeat(Math.max(drawnLength - line.length(), 0)));
    err.flush();
    drawnLength = line.length();
  }
}
