// SPDX-License-Identifier: Apache-2.0
package dev.sluice.internal.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Against the examples in the documentation and the tests of Go's time package; days are ours. */
class GoDurationTest {

  private static final Map<String, Long> NANOS =
      Map.ofEntries(
          Map.entry("0", 0L),
          Map.entry("0s", 0L),
          Map.entry("5s", 5_000_000_000L),
          Map.entry("30s", 30_000_000_000L),
          Map.entry("1478s", 1_478_000_000_000L),
          Map.entry("5.0s", 5_000_000_000L),
          Map.entry("5.6s", 5_600_000_000L),
          Map.entry("5.s", 5_000_000_000L),
          Map.entry(".5s", 500_000_000L),
          Map.entry("1.004s", 1_004_000_000L),
          Map.entry("1.0040s", 1_004_000_000L),
          Map.entry("100.00100s", 100_001_000_000L),
          Map.entry("10ns", 10L),
          Map.entry("11us", 11_000L),
          Map.entry("12µs", 12_000L),
          Map.entry("12μs", 12_000L),
          Map.entry("13ms", 13_000_000L),
          Map.entry("15m", 900_000_000_000L),
          Map.entry("16h", 57_600_000_000_000L),
          Map.entry("3h30m", 12_600_000_000_000L),
          Map.entry("10.5s4m", 250_500_000_000L),
          Map.entry("1h2m3s4ms5us6ns", 3_723_004_005_006L),
          Map.entry("39h9m14.425s", 140_954_425_000_000L),
          Map.entry("9223372036854775807ns", Long.MAX_VALUE),
          Map.entry("9223372036854775.807us", Long.MAX_VALUE),
          Map.entry("9223372036s854ms775us807ns", Long.MAX_VALUE),
          Map.entry("0.3333333333333333333h", 1_200_000_000_000L - 1),
          Map.entry("2160h", 7_776_000_000_000_000L),
          Map.entry("7d", 604_800_000_000_000L),
          Map.entry("1d12h", 129_600_000_000_000L),
          Map.entry("PT3H", 10_800_000_000_000L),
          Map.entry("PT1M30.5S", 90_500_000_000L),
          Map.entry("P7D", 604_800_000_000_000L));

  @Test
  void parse_documentedExamples_giveTheirNanoseconds() {
    NANOS.forEach(
        (text, nanos) ->
            assertThat(GoDuration.parse(text)).as(text).isEqualTo(Duration.ofNanos(nanos)));
  }

  @Test
  void parse_anythingElse_isRefusedWithAnExample() {
    for (String text :
        List.of(
            "",
            "3",
            "-",
            "s",
            ".",
            "-.",
            ".s",
            "+.s",
            "1w",
            "1 s",
            " 1s",
            "1s ",
            "1S",
            "-1s",
            "+5s",
            "1e3s",
            "1,5s",
            "1h-1m",
            "٣s",
            "PT",
            "PT-3H",
            "P1Y",
            "1 fortnight",
            "1\u0000s",
            "1s".repeat(33))) {
      assertThatThrownBy(() -> GoDuration.parse(text))
          .as(text)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("found \"")
          .hasMessageContaining("expected a duration such as 1s, 180m, 1h30m, 7d, 250ms or PT3H");
    }
  }

  @Test
  void parse_overTheRange_isRefused() {
    for (String text :
        List.of(
            "9223372036854775808ns",
            "9223372036854775.808us",
            "3000000h",
            "99999999999999999999999999h",
            "PT2562048H",
            "P999999999D")) {
      assertThatThrownBy(() -> GoDuration.parse(text))
          .as(text)
          .hasMessageContaining("expected at most 9223372036854775807 ns");
    }
  }

  @Test
  void format_documentedExamples_printAsGoDoes() {
    Map.ofEntries(
            Map.entry(0L, "0s"),
            Map.entry(1L, "1ns"),
            Map.entry(1_100L, "1.1µs"),
            Map.entry(1_500L, "1.5µs"),
            Map.entry(2_200_000L, "2.2ms"),
            Map.entry(250_000_000L, "250ms"),
            Map.entry(999_999_999L, "999.999999ms"),
            Map.entry(3_300_000_000L, "3.3s"),
            Map.entry(245_000_000_000L, "4m5s"),
            Map.entry(245_001_000_000L, "4m5.001s"),
            Map.entry(18_367_001_000_000L, "5h6m7.001s"),
            Map.entry(480_000_000_001L, "8m0.000000001s"),
            Map.entry(3_600_000_000_000L, "1h0m0s"),
            Map.entry(604_800_000_000_000L, "168h0m0s"),
            Map.entry(Long.MAX_VALUE, "2562047h47m16.854775807s"))
        .forEach(
            (nanos, text) ->
                assertThat(GoDuration.format(Duration.ofNanos(nanos))).isEqualTo(text));
  }

  @Test
  void format_anyDuration_isReadBack() {
    Random random = new Random(7);
    for (int i = 0; i < 10_000; i++) {
      Duration duration = Duration.ofNanos(random.nextLong(Long.MAX_VALUE) >> random.nextInt(63));
      assertThat(GoDuration.parse(GoDuration.format(duration))).isEqualTo(duration);
    }
  }

  @Test
  void format_smallestOfAUnit_isWrittenInIt() {
    assertThat(GoDuration.format(Duration.ofNanos(999))).isEqualTo("999ns");
    assertThat(GoDuration.format(Duration.ofNanos(1_000))).isEqualTo("1µs");
    assertThat(GoDuration.format(Duration.ofMillis(1))).isEqualTo("1ms");
    assertThat(GoDuration.format(Duration.ofSeconds(1))).isEqualTo("1s");
  }

  @Test
  void parse_sixtyFourCharacters_areTaken_andNoMore() {
    assertThat(GoDuration.parse("0".repeat(62) + "1s")).isEqualTo(Duration.ofSeconds(1));
    assertThatThrownBy(() -> GoDuration.parse("0".repeat(63) + "1s"))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT0.000000001S", "PT30S", "PT9223372036.854775807S"})
  void positive_inRange_isTheDuration(Duration found) {
    assertThat(GoDuration.positive("interval", found)).isEqualTo(found);
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
    assertThatThrownBy(() -> GoDuration.positive("interval", found))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("interval: found %s, expected a duration > 0 and at most 292 years", found);
  }
}
