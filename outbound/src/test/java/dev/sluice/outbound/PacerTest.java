// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limit;
import dev.sluice.gcra.Quota;
import dev.sluice.testkit.ManualTime;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A pacer without a client, on a clock that the test moves. */
class PacerTest {

  private static final URI PARTNER = URI.create("http://partner.example/");
  private static final Duration HOUR = Duration.ofHours(1);

  private final ManualTime time = new ManualTime();
  private final Limit limit = Limit.of(Quota.of(1, 1, HOUR), time);
  private final Pacer pacer = Pacer.builder(limit, Duration.ofSeconds(2)).time(time).build();

  /** The clock leaps, as that of a process which stood still: the alarm rings late. */
  @Test
  void admit_pauseEndsAfterTheDeadline_takesWhatIsThere_andRefusesOtherwise() {
    pacer.pause(PARTNER, Duration.ofSeconds(1));
    CompletableFuture<Void> first = pacer.admit(PARTNER);
    CompletableFuture<Void> second = pacer.admit(PARTNER);

    time.set(time.nanos() + Duration.ofSeconds(10).toNanos());

    assertThat(first).isCompleted();
    assertThat(second)
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .withCauseInstanceOf(RefusedRequestException.class);
  }

  /** A name that no DNS has, and that container networks have. */
  @ParameterizedTest
  @ValueSource(strings = {"http://my_partner/a", "http://ann:secret@my_partner:8080/b"})
  void admit_hostWithAnUnderscore_isLimitedByThatName(String uri) {
    assertThat(limit.spend("my_partner").allowed()).isTrue();

    assertThat(pacer.admit(URI.create(uri))).isCompletedExceptionally();
  }

  @ParameterizedTest
  @CsvSource({
    "999999999999999, 3600",
    "9223372036854775807, 0",
    "18446744073709551616, 0",
    "-1, 0",
    "'1, 2', 0",
    "1e9, 0",
    "'Fri, 31 Dec 9999 23:59:59 GMT', 3600",
    "'\u0661', 0",
  })
  void learn_hostileRetryAfter_pausesForAnHourAtMost(String value, long seconds) {
    Pacer patient = Pacer.builder(limit, Duration.ofHours(2)).time(time).build();
    patient.learn(
        PARTNER, 503, name -> Map.of("retry-after", List.of(value)).getOrDefault(name, List.of()));

    CompletableFuture<Void> admitted = patient.admit(PARTNER);
    assertThat(admitted.isDone()).isEqualTo(seconds == 0);
    time.advance(Duration.ofSeconds(seconds));
    assertThat(admitted).isCompleted();
  }
}
