// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.System.Logger;
import java.util.ArrayList;
import java.util.List;
import java.util.ResourceBundle;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class QuietLogTest {

  private final List<String> lines = new ArrayList<>();
  // Near the end of its range, as nanoTime may be.
  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5_000_000_000L);
  private final QuietLog log = new QuietLog(new Lines(), nanos::get);

  @Test
  void flood_isOneLineInTenSeconds_thatSaysHowManyWereLeftOut() {
    for (int i = 0; i < 1000; i++) {
      log.failed("could not decide", new IllegalStateException("no"));
    }
    assertThat(lines).containsExactly("WARNING could not decide: no");

    nanos.addAndGet(10_000_000_000L);
    log.failed("could not decide", new IllegalStateException("no"));

    assertThat(lines.get(1)).endsWith("(similar lines omitted: 999)");
  }

  @Test
  void kinds_doNotSilenceEachOther() {
    Rule rule = Rule.on("/a").limit("PerKey", VaryBy.constant("secret")).build();
    log.failed("could not decide", new IllegalStateException("no"));
    log.shadowDenied(rule.where(), "PerKey");

    assertThat(lines)
        .last()
        .isEqualTo("INFO PerKey would have denied a request (shadow rule on /a)");
  }

  private final class Lines implements Logger {
    @Override
    public String getName() {
      return "test";
    }

    @Override
    public boolean isLoggable(Level level) {
      return true;
    }

    @Override
    public void log(Level level, ResourceBundle bundle, String message, Throwable thrown) {
      lines.add(level + " " + message);
    }

    @Override
    public void log(Level level, ResourceBundle bundle, String format, Object... parameters) {
      throw new AssertionError(format);
    }
  }
}
