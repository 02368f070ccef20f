// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Durations that callers set. */
class DurationsTest {

  @ParameterizedTest
  @ValueSource(strings = {"PT0.000000001S", "PT30S", "PT9223372036.854775807S"})
  void positive_inRange_isTheDuration(Duration found) {
    assertThat(Durations.positive("interval", found)).isEqualTo(found);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "PT0S",
        "PT-0.000000001S",
        "PT9223372036.854775808S",
        "PT9223372036854775807S",
        "PT-9223372036854775808S"
      })
  void positive_outOfRange_isRefused(Duration found) {
    assertThatThrownBy(() -> Durations.positive("interval", found))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("interval: found %s, expected a duration > 0 and at most 292 years", found);
  }
}
