// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LogPaceTest {

  /** The clock wraps around within the pause, as {@link System#nanoTime} may. */
  @Test
  void next_isOneLineInTenSeconds_andSaysHowManyWereLeftOut() {
    AtomicLong nowNanos = new AtomicLong(Long.MAX_VALUE - 5);
    LogPace pace = new LogPace(nowNanos::get);
    assertThat(pace.next()).isEmpty();
    assertThat(pace.next()).isNull();
    nowNanos.addAndGet(TimeUnit.SECONDS.toNanos(10) - 1);
    assertThat(pace.next()).isNull();
    nowNanos.incrementAndGet();
    assertThat(pace.next()).isEqualTo(" (similar lines omitted: 2)");
    nowNanos.addAndGet(TimeUnit.SECONDS.toNanos(10));
    assertThat(pace.next()).isEmpty();
  }
}
