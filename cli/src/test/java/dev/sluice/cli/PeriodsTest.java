// SPDX-License-Identifier: Apache-2.0
package dev.sluice.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class PeriodsTest {

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
    assertThat(Periods.rounded(nanos)).isEqualTo(text);
  }
}
