// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Quota;
import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class FormatTest {

  @ParameterizedTest
  @CsvSource({
    "0, 0s",
    "1, 1ns",
    "1234567, 1.23ms",
    "999999999, 1s",
    "1234567890, 1.23s",
    "36000000000, 36s",
    "59999000000000, 16h40m",
    "3599640000000, 1h",
    "3563640000000, 59m24s",
    "86400000000000, 24h",
  })
  void duration_isRounded_toAboutThreeDigits(long nanos, String text) {
    assertThat(Format.roundedDuration(nanos)).isEqualTo(text);
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0 ms",
    "35640000000, 36 s",
    "3564000000000, 59 min",
    "3581000000000, 1 h",
    "9000000000000, 2.5 h"
  })
  void durationInWords_hasOneUnit(long nanos, String words) {
    assertThat(Format.durationInWords(nanos)).isEqualTo(words);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "100 | 100 | PT1H | 100/1h",
        "20 | 50 | PT1S | 50/1s,burst=20",
        "3 | 3 | PT1H30M | 3/1h30m",
        "7 | 7 | PT168H | 7/168h"
      })
  void quota_isWrittenAsPeopleTypeIt(long burst, long count, Duration period, String text) {
    assertThat(Format.quota(Quota.burst(burst).refill(count, period))).isEqualTo(text);
  }
}
