// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.cli.SimulateCommand.ProgressLine;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

final class ProgressLineTest {

  private static final long MILLI = 1_000_000;

  private final StringWriter err = new StringWriter();
  private long nowNanos = -5;

  @Test
  void line_comesAfterASecond_tenTimesASecondAtMost_andGoesInTheEnd() {
    ProgressLine line = line(true);
    nowNanos += 999 * MILLI;
    line.at("gcra", 0.1);
    assertThat(err.toString()).isEmpty();
    nowNanos += MILLI;
    line.at("gcra", 0.5);
    String first = "[###############---------------]  50 % gcra";
    assertThat(err.toString()).isEqualTo("\r" + first);
    nowNanos += 99 * MILLI;
    line.at("gcra", 0.6);
    assertThat(err.toString()).isEqualTo("\r" + first);
    nowNanos += MILLI;
    line.at("x", 1);
    String second = "[##############################] 100 % x";
    assertThat(err.toString()).isEqualTo("\r" + first + "\r" + second + "   ");
    line.clear();
    assertThat(err.toString()).endsWith("\r" + " ".repeat(second.length()) + "\r");
  }

  @Test
  void nobodyWatches_nothingIsDrawn() {
    ProgressLine line = line(false);
    nowNanos += 5000 * MILLI;
    line.at("gcra", 0.5);
    line.clear();
    assertThat(err.toString()).isEmpty();
  }

  private ProgressLine line(boolean watched) {
    return new ProgressLine(new PrintWriter(err), watched, () -> nowNanos);
  }
}
