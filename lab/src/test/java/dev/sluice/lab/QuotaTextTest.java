// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class QuotaTextTest {

  @Test
  void quota_isRead_andWrittenInTheSameForm() {
    assertThat(QuotaText.parse("100/1h")).isEqualTo(Quota.per(100, Duration.ofHours(1)));
    assertThat(QuotaText.parse("50/1s,burst=20"))
        .isEqualTo(Quota.of(20, 50, Duration.ofSeconds(1)));
    for (String text : new String[] {"100/1h", "50/1s,burst=20", "3/1h30m", "1/250ms", "7/168h"}) {
      assertThat(QuotaText.format(QuotaText.parse(text))).isEqualTo(text);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "100", "100/", "/1h", "-1/1h", "100/1h,burst", "100/1h,20", "1e3/1h"})
  void otherText_isRefused(String text) {
    assertThatThrownBy(() -> QuotaText.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "found \"" + text + "\", expected COUNT/PERIOD such as 100/1h, or 100/1h,burst=20");
  }

  @Test
  void badNumbersAndPeriods_areRefused() {
    assertThatThrownBy(() -> QuotaText.parse("0/1h")).hasMessageContaining("count: found 0");
    assertThatThrownBy(() -> QuotaText.parse("1/soon")).hasMessageContaining("found \"soon\"");
  }
}
