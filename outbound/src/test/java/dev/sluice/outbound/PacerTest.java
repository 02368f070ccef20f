// SPDX-License-Identifier: Apache-2.0
package dev.sluice.outbound;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limit;
import dev.sluice.Limiter;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.TimeSource;
import dev.sluice.testkit.LoggedLines;
import dev.sluice.testkit.ManualTime;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A pacer without a client, on a clock that the test moves. */
class PacerTest {

  private static final URI PARTNER = URI.create("http://partner.example/");
  private static final Duration HOUR = Duration.ofHours(1);

  private final ManualTime time = new ManualTime();
  private final Limit limit = Limit.of(Quota.per(1, HOUR), time);
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

  @Test
  void admit_afterAPause_isRefused_withWhatIsLeftOfItsLongestWait() {
    Limit slow = Limit.of(Quota.per(1, Duration.ofMillis(1500)), time);
    Pacer hasty = Pacer.builder(slow, Duration.ofSeconds(2)).time(time).build();
    hasty.pause(PARTNER, Duration.ofSeconds(1));
    CompletableFuture<Void> first = hasty.admit(PARTNER);
    CompletableFuture<Void> second = hasty.admit(PARTNER);

    time.advance(Duration.ofSeconds(1));

    assertThat(first).isCompleted();
    assertThat(second)
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .withMessageContaining(
            "must wait for PT1.5S, but may wait for only PT1S (longest wait: PT2S)");
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

  @Test
  @SuppressWarnings({"NullAway", "CheckReturnValue"}) // nulls are what this is about
  void null_isRefusedAtTheDoor() {
    Map<String, ThrowingCallable> doors =
        Map.of(
            "limit", () -> Pacer.builder(null, HOUR),
            "maxWait", () -> Pacer.builder(limit, null),
            "newId", () -> Pacer.builder(limit, HOUR).id(null),
            "newTime", () -> Pacer.builder(limit, HOUR).time(null),
            "longest", () -> Pacer.builder(limit, HOUR).longestPause(null),
            "client", () -> PacedHttpClient.of(null, Pacer.builder(limit, HOUR).build()));
    doors.forEach(
        (name, door) ->
            assertThatThrownBy(door).isInstanceOf(NullPointerException.class).hasMessage(name));
    for (ThrowingCallable door :
        List.<ThrowingCallable>of(
            () -> PacedHttpClient.of(HttpClient.newHttpClient(), null),
            () -> PacedOkHttp.interceptor(null),
            () -> PacedRestClient.interceptor(null),
            () -> PacedWebClient.filter(null))) {
      assertThatThrownBy(door).isInstanceOf(NullPointerException.class).hasMessage("pacer");
    }
  }

  @Test
  void build_maxWaitAboveTheLimitsLongestWait_isRefused() {
    LimitName partner =
        LimitName.builder("CallsPerPartner").longestWait(Duration.ofSeconds(30)).build();
    Limits limits =
        Limits.builder(Catalogue.of(partner)).limit("CallsPerPartner", Quota.per(1, HOUR)).build();
    Limit named =
        Limiter.of(new CurrentLimits(limits), BucketStore.inMemory(time)).limit("CallsPerPartner");

    assertThat(Pacer.builder(named, Duration.ofSeconds(30)).build()).isNotNull();
    assertThatThrownBy(() -> Pacer.builder(named, Duration.ofMinutes(1)).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "maxWait: found PT1M, expected at most the longest wait of CallsPerPartner (PT30S)");
    assertThat(Pacer.builder(limit, ChronoUnit.FOREVER.getDuration()).build()).isNotNull();
  }

  @Test
  void admit_nullId_isRefusedInWords() {
    Pacer withoutIds = Pacer.builder(limit, HOUR).time(time).id(uri -> null).build();

    assertThatThrownBy(() -> withoutIds.admit(PARTNER))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("id: found null for a URI of partner.example, expected an id of the limit");
  }

  @Test
  void learn_whatFails_isLoggedNowAndThen() {
    URI nowhere = URI.create("mailto:ann@partner.example");

    try (LoggedLines logged = new LoggedLines(Pacer.class)) {
      pacer.pause(nowhere, HOUR);
      pacer.learn(PARTNER, 503, name -> List.of((String) null));
      time.advance(Duration.ofSeconds(10));
      pacer.pause(nowhere, HOUR);

      assertThat(logged.lines())
          .containsExactly(
              "WARNING could not read from a response whether to pause requests",
              "WARNING could not read from a response whether to pause requests (similar lines omitted: 1)");
    }
    assertThat(pacer.admit(PARTNER)).isCompleted();
  }

  private static URI partner(int i) {
    return URI.create("http://partner" + i + ".example/");
  }

  @Test
  void pause_ofTooManyIds_isLeftOutAndLogged_untilOneEnds() {
    pacer.pause(partner(0), Duration.ofSeconds(1));
    for (int i = 1; i < 10_000; i++) {
      pacer.pause(partner(i), HOUR);
    }

    try (LoggedLines logged = new LoggedLines(Pacer.class)) {
      pacer.pause(PARTNER, HOUR);
      pacer.pause(PARTNER, HOUR);

      assertThat(pacer.admit(PARTNER)).isCompleted();
      assertThat(logged.lines())
          .containsExactly(
              "WARNING 10000 ids are paused, which is the maximum; pauses of further ids are ignored");

      time.advance(Duration.ofSeconds(1));
      pacer.pause(partner(10_000), HOUR);

      assertThat(pacer.admit(partner(10_000))).isCompletedExceptionally();
      assertThat(logged.lines()).hasSize(1);
    }
  }

  @Test
  void pause_ofAnIdThatIsPaused_countsAmongTooManyToo() {
    for (int i = 0; i < 10_000; i++) {
      pacer.pause(partner(i), Duration.ofSeconds(1));
    }
    pacer.pause(partner(0), HOUR);

    time.advance(Duration.ofSeconds(1));

    assertThat(pacer.admit(partner(0))).isCompletedExceptionally();
    assertThat(pacer.admit(partner(1))).isCompleted();
  }

  /** Alarms of the same instant ring in any order, here the last one first. */
  @Test
  void requests_thatWaitForAPause_takeTheirTurnsInOrderOfArrival() {
    Deque<Alarm> alarms = new ArrayDeque<>();
    TimeSource lastFirst =
        new TimeSource() {
          @Override
          public long nanos() {
            return time.nanos();
          }

          @Override
          public Future<?> alarm(long atNanos, Runnable task) {
            alarms.push(new Alarm(atNanos, task));
            return new CompletableFuture<>();
          }
        };
    Limit perSecond = Limit.of(Quota.burst(1).refill(1, Duration.ofSeconds(1)), time);
    Pacer ordered = Pacer.builder(perSecond, HOUR).time(lastFirst).build();
    ordered.pause(PARTNER, Duration.ofSeconds(1));
    List<CompletableFuture<Void>> requests =
        Stream.generate(() -> ordered.admit(PARTNER)).limit(4).toList();
    assertThat(requests.get(1).cancel(false)).isTrue();
    for (int i = 0; i < 2; i++) {
      ordered.pause(PARTNER, Duration.ofSeconds(2));
      time.advance(Duration.ofSeconds(1));
      ring(alarms);
      assertThat(requests.get(0)).as("the pause has become longer").isNotDone();
    }
    time.advance(Duration.ofSeconds(1));
    ring(alarms);

    assertThat(requests.get(0)).isCompleted();
    assertThat(requests.get(2)).isNotDone();
    time.advance(Duration.ofSeconds(1));
    ring(alarms);
    assertThat(requests.get(2)).isCompleted();
    assertThat(requests.get(3)).isNotDone();
  }

  private record Alarm(long atNanos, Runnable task) {}

  private void ring(Deque<Alarm> alarms) {
    Optional<Alarm> due = due(alarms);
    while (due.isPresent()) {
      alarms.remove(due.get());
      due.get().task.run();
      due = due(alarms);
    }
  }

  private Optional<Alarm> due(Deque<Alarm> alarms) {
    return alarms.stream().filter(alarm -> alarm.atNanos <= time.nanos()).findFirst();
  }

  @Test
  void admit_whileTooManyRequestsWaitForAPause_isRefused_untilOneLeaves() {
    Limit fast = Limit.of(Quota.per(1_000_000, HOUR), time);
    Pacer patient = Pacer.builder(fast, HOUR).time(time).build();
    patient.pause(PARTNER, Duration.ofSeconds(1));
    List<CompletableFuture<Void>> waiting =
        Stream.generate(() -> patient.admit(PARTNER)).limit(100_000).toList();

    assertThat(patient.admit(PARTNER))
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .withCauseInstanceOf(RefusedRequestException.class)
        .withMessageContaining("100000 requests wait for the end of pauses");
    assertThat(waiting.get(0).cancel(false)).isTrue();
    assertThat(patient.admit(PARTNER)).isNotDone();

    time.advance(Duration.ofSeconds(1));
    assertThat(waiting.get(1)).isCompleted();
    patient.pause(PARTNER, Duration.ofSeconds(1));
    assertThat(patient.admit(PARTNER)).as("nobody waits for a pause now").isNotDone();
  }
}
