// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class QuantitiesTest {

  @ParameterizedTest
  @CsvSource({
    "0, 0 ms",
    "1, 1 ms",
    "999000000, 999 ms",
    "999000001, 1 s",
    "1000000000, 1 s",
    "59000000001, 1 min",
    "90000000000, 1 min 30 s",
    "3599000000000, 59 min 59 s",
    "3599000000001, 1 h",
    "7500000000000, 2 h 5 min",
    "86340000000000, 23 h 59 min",
    "86340000000001, 1 d",
    "86396000000000, 1 d",
    "86400000000000, 1 d",
    "86401000000000, 1 d 1 h",
    "273600000000000, 3 d 4 h"
  })
  void span_isRoundedUp_andHasNoUnitThatIsFull(long nanos, String text) {
    assertThat(Quantities.rounded(nanos)).isEqualTo(text);
  }

  @Test
  void quota_isACountAndAPeriod_andABurstWhereItDiffers() {
    assertThat(Quantities.quota("100/1h")).isEqualTo(Quota.per(100, Duration.ofHours(1)));
    assertThat(Quantities.quota("50/1s,burst=20"))
        .isEqualTo(Quota.burst(20).refill(50, Duration.ofSeconds(1)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "100", "100/", "/1h", "-1/1h", "100/1h,burst", "100/1h,20", "1e3/1h"})
  void otherText_isRefused(String text) {
    assertThatThrownBy(() -> Quantities.quota(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "found \"" + text + "\", expected COUNT/PERIOD such as 100/1h, or 100/1h,burst=20");
  }

  @Test
  void quotaOfBadNumbers_isRefused() {
    assertThatThrownBy(() -> Quantities.quota("0/1h")).hasMessageContaining("count: found 0");
    assertThatThrownBy(() -> Quantities.quota("1/soon")).hasMessageContaining("found \"soon\"");
  }
}
