// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EndTimeTest {

  @ParameterizedTest
  @CsvSource({
    "2027-03-01, 2027-03-01T00:00:00Z",
    "2027-03-01T12:00:00Z, 2027-03-01T12:00:00Z",
    "2027-03-01T12:00:00.5+01:00, 2027-03-01T11:00:00.5Z",
    "2027-03-01T12:00Z, 2027-03-01T12:00:00Z",
  })
  void dateOrTimeWithAnOffset_isParsed(String text, Instant end) {
    assertThat(EndTime.parse(text)).isEqualTo(end);
  }

  @Test
  void instantAsItIsPrinted_isParsed() {
    Instant now = Instant.parse("2027-03-01T12:00:00.141592653Z");
    assertThat(EndTime.parse(now.toString())).isEqualTo(now);
  }

  @ParameterizedTest
  @ValueSource(strings = {"2600-01-01", "9999-12-31", "2262-04-12", "0001-01-01", "1969-12-31"})
  void timeThatNoStoreCanKeep_isRefused_withTheRange(String text) {
    assertThatThrownBy(() -> EndTime.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("found " + text)
        .hasMessageContaining("from 1970-01-01T00:00:00Z to 2262-04-11T23:47:16.854775807Z");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "March", "2027-13-01", "2027-03-01T12:00:00", "01.03.2027", "1d"})
  void anythingElse_isRefused_withAnExample(String text) {
    assertThatThrownBy(() -> EndTime.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("expected a date such as 2027-03-01");
  }
}
