// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Decision;
import dev.sluice.Limit;
import dev.sluice.gcra.Quota;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class RetryAdviceTest {

  private static final Instant NOW = Instant.parse("2026-11-22T08:00:00Z");

  private static Duration pause(int status, Map<String, List<String>> fields) {
    return RetryAdvice.pause(status, name -> fields.getOrDefault(name, List.of()), NOW);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "429|retry-after|3|3",
        "503|retry-after|0|0",
        "429|retry-after|Sun, 22 Nov 2026 08:00:07 GMT|7",
        "429|retry-after|Sunday, 22-Nov-26 08:00:07 GMT|7",
        "429|retry-after|Sun Nov 22 08:00:07 2026|7",
        "429|retry-after|Sun, 22 Nov 2026 07:00:00 GMT|0",
        "200|retry-after|3|0",
        "429|retry-after|-3|0",
        "429|retry-after|3.5|0",
        "429|retry-after|soon|0",
        "429|retry-after|9999999999999999|0",
        "429|retry-after|999999999999999|999999999999999",
        "400|retry-after|3|3",
        "399|retry-after|3|0",
        "200|ratelimit|\"per-ip\";r=0;t=3|3",
        "200|ratelimit|\"per-ip\";r=1;t=3|0",
        "429|ratelimit|\"burst\";r=0;t=3, \"daily\";r=0;t=60,\"other\";r=7;t=99|60",
        "200|ratelimit|\"a \\\"quoted\\\" name, with ;r=0;t=9\";r=0;t=2|2",
        "200|ratelimit|token;r=0;pk=:cHsdsRa894==:;t=4;x|4",
        "200|ratelimit|\"open|0",
        "200|ratelimit|\"a\";r=0;t=3,|0",
        "200|ratelimit|\"a\";r=0;t=-3|0",
        "200|ratelimit|\"a\";r=0;t=\"3\"|0",
        "200|ratelimit|(\"a\" \"b\");r=0;t=3|0",
        "200|ratelimit|\"a\";R=0;t=3|0",
      })
  void pause_ofOneField_isWhatItSays(int status, String name, String value, long seconds) {
    assertThat(pause(status, Map.of(name, List.of(value)))).isEqualTo(Duration.ofSeconds(seconds));
  }

  @ParameterizedTest
  @CsvSource({
    "x-ratelimit-, 0, 30, 30",
    "x-ratelimit-, 1, 30, 0",
    "ratelimit-, 0, 30, 30",
    "x-ratelimit-, 0, 1795334410, 10", // seconds since the epoch, as GitHub
    "x-ratelimit-, 0, 1795334410000, 10", // milliseconds, as some
    "x-ratelimit-, 0, 1795334390, 0",
    "x-ratelimit-, 0, soon, 0",
    "x-ratelimit-, 0, 999999999, 999999999", // the longest that is not a date: 31 years
    "x-ratelimit-, 0, 1000000000, 0", // the first seconds that are a date, in 2001
    "x-ratelimit-, 0, 1000000000000, 0", // the first milliseconds that are one, in 2001
    "x-ratelimit-, '', 30, 0",
  })
  void pause_ofOlderFamilies_isUntilTheReset(
      String family, String remaining, String reset, long seconds) {
    Map<String, List<String>> fields =
        Map.of(family + "remaining", List.of(remaining), family + "reset", List.of(reset));
    assertThat(pause(200, fields)).isEqualTo(Duration.ofSeconds(seconds));
  }

  /** The fields that OpenAI (a duration) and Anthropic (a moment) document. */
  @ParameterizedTest
  @CsvSource({
    "x-ratelimit-remaining-requests, 0, x-ratelimit-reset-requests, 6m0s, 360000",
    "x-ratelimit-remaining-tokens, 0, x-ratelimit-reset-tokens, 1.5s, 1500",
    "x-ratelimit-remaining-tokens, 0, x-ratelimit-reset-tokens, 20ms, 20",
    "x-ratelimit-remaining-tokens, 7, x-ratelimit-reset-tokens, 6m0s, 0",
    "x-ratelimit-remaining-tokens, 0, x-ratelimit-reset-tokens, soon, 0",
    "anthropic-ratelimit-requests-remaining, 0, anthropic-ratelimit-requests-reset, 2026-11-22T08:00:09Z, 9000",
    "anthropic-ratelimit-output-tokens-remaining, 0, anthropic-ratelimit-output-tokens-reset, 2026-11-22T08:00:09Z, 9000",
    "anthropic-ratelimit-input-tokens-remaining, 0, anthropic-ratelimit-input-tokens-reset, 2026-11-22T07:00:00Z, 0",
    "anthropic-ratelimit-tokens-remaining, 5, anthropic-ratelimit-tokens-reset, 2026-11-22T08:00:09Z, 0",
  })
  void pause_ofModelProviders_isUntilTheReset(
      String remaining, String left, String reset, String text, long millis) {
    Map<String, List<String>> fields = Map.of(remaining, List.of(left), reset, List.of(text));
    assertThat(pause(200, fields)).isEqualTo(Duration.ofMillis(millis));
  }

  @Test
  void pause_ofSeveralExhaustedQuotasOfAModel_isTheLongest() {
    Map<String, List<String>> fields =
        Map.of(
            "x-ratelimit-remaining-requests", List.of("0"),
            "x-ratelimit-reset-requests", List.of("1s"),
            "x-ratelimit-remaining-tokens", List.of("0"),
            "x-ratelimit-reset-tokens", List.of("4s"));
    assertThat(pause(200, fields)).isEqualTo(Duration.ofSeconds(4));
  }

  @Test
  void pause_senderWithAnotherClock_goesByTheDateOfTheAnswer() {
    Map<String, List<String>> fields =
        Map.of(
            "date", List.of("Sun, 22 Nov 2026 09:30:00 GMT"),
            "retry-after", List.of("Sun, 22 Nov 2026 09:30:05 GMT"));
    assertThat(pause(429, fields)).isEqualTo(Duration.ofSeconds(5));
  }

  @Test
  void pause_fieldTwice_countsOnlyIfBothSayTheSame() {
    assertThat(pause(429, Map.of("retry-after", List.of("3", "3")))).hasSeconds(3);
    assertThat(pause(429, Map.of("retry-after", List.of("3", "4")))).isZero();
    assertThat(pause(200, Map.of("ratelimit", List.of("\"a\";r=0;t=3", "\"b\";r=0;t=5"))))
        .hasSeconds(5);
  }

  /** What we send, we understand, in every family. */
  @ParameterizedTest
  @EnumSource(HeaderProfile.class)
  void pause_ofOurOwnDenials_isLongEnough(HeaderProfile profile) {
    Limit limit =
        Limit.of(Quota.per(1, Duration.ofSeconds(90)), () -> NOW.getEpochSecond() * 1_000_000_000L);
    assertThat(limit.spend("x").allowed()).isTrue();
    Decision denied = limit.spend("x");
    Map<String, List<String>> fields = new HashMap<>();
    profile
        .headers(denied)
        .forEach((name, value) -> fields.put(name.toLowerCase(Locale.ROOT), List.of(value)));
    assertThat(pause(429, fields))
        .isBetween(denied.retryIn(), denied.retryIn().plus(Duration.ofSeconds(4)));
    fields.remove("retry-after");
    if (profile != HeaderProfile.NONE) {
      assertThat(pause(429, fields))
          .as("without Retry-After")
          .isBetween(denied.retryIn(), denied.retryIn().plus(Duration.ofSeconds(4)));
    }
  }

  @Test
  void pause_ofAnyText_neverThrowsAndIsNeverNegative() {
    Random random = new Random(7);
    String seed = "\"per-ip\";r=0;t=3, tok;q=1;pk=:YQ==:;t=?1 Sun, 22 Nov 2026 08:00:07 GMT";
    for (int i = 0; i < 20_000; i++) {
      StringBuilder text = new StringBuilder(seed);
      for (int change = random.nextInt(6); change >= 0; change--) {
        int at = random.nextInt(text.length());
        switch (random.nextInt(3)) {
          case 0 -> text.setCharAt(at, (char) random.nextInt(0x180));
          case 1 -> text.delete(at, Math.min(at + random.nextInt(20), text.length() - 1));
          default -> text.insert(at, text.charAt(random.nextInt(text.length())));
        }
      }
      List<String> value = List.of(text.toString());
      for (String name : List.of("ratelimit", "retry-after", "date", "x-ratelimit-reset")) {
        assertThat(pause(429, Map.of(name, value, "x-ratelimit-remaining", List.of("0"))))
            .as("%s: %s", name, text)
            .isGreaterThanOrEqualTo(Duration.ZERO);
      }
    }
  }

  /** The sender has said "at once": what else it sends does not change that. */
  @Test
  void pause_ofZero_winsOverAQuotaThatIsUsedUp() {
    Map<String, List<String>> fields =
        Map.of("retry-after", List.of("0"), "ratelimit", List.of("\"a\";r=0;t=9"));
    assertThat(pause(429, fields)).isZero();
    assertThat(pause(200, fields)).hasSeconds(9);
  }

  @Test
  void pause_ofAFieldThatCannotBeRead_isThatOfTheNext() {
    Map<String, List<String>> fields =
        Map.of("retry-after", List.of("soon"), "ratelimit", List.of("\"a\";r=0;t=9"));
    assertThat(pause(429, fields)).hasSeconds(9);
  }

  /** Draft 07 had a dictionary, which some servers still send beside the older fields. */
  @Test
  void pause_ofARateLimitFieldThatCannotBeRead_isThatOfTheOlderFields() {
    Map<String, List<String>> fields =
        Map.of(
            "ratelimit", List.of("limit=100, remaining=0, reset=30"),
            "x-ratelimit-remaining", List.of("0"),
            "x-ratelimit-reset", List.of("9"));
    assertThat(pause(200, fields)).hasSeconds(9);
    assertThat(pause(200, Map.of("ratelimit", List.of("limit=1, remaining=0, reset=9")))).isZero();
  }

  @Test
  void pause_ofTheLongestField_isRead_andOfALongerOneIsNot() {
    for (int length : new int[] {8_192, 8_193}) {
      String padded = "3" + " ".repeat(length - 1);
      assertThat(pause(429, Map.of("retry-after", List.of(padded))))
          .as("%s characters", length)
          .isEqualTo(length == 8_192 ? Duration.ofSeconds(3) : Duration.ZERO);
      String item = "\"a\";r=0;t=3";
      String field = item + " ".repeat(length - 2 - item.length()); // each value counts two more
      assertThat(pause(200, Map.of("ratelimit", List.of(field))))
          .as("%s characters", length)
          .isEqualTo(length == 8_192 ? Duration.ofSeconds(3) : Duration.ZERO);
    }
  }

  @Test
  void pause_ofAnEndlessField_isIgnored() {
    String endless = "\"a\";r=0;t=3" + ",\"a\";r=0;t=3".repeat(100_000);
    assertThat(pause(200, Map.of("ratelimit", List.of(endless)))).isZero();
  }
}
