// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Four ways to limit bad logins to 30 an hour and address: two of them wrong. From the essay
 * "Reservation-style rate limiting APIs".
 */
class LoginLimitTest {

  private static final String BAD_LOGINS = "FailedLoginsPerIPAddress";
  private static final String IP = "192.0.2.7";
  private static final String PASSWORD = "tr0ub4dor&3";

  private final Limiter limiter =
      Limiter.of(
          Limits.builder(Catalogue.samples())
              .limit(BAD_LOGINS, Quota.per(30, Duration.ofHours(1)))
              .build(),
          BucketStore.inMemory(new ManualTime()));

  private enum Answer {
    WELCOME,
    UNAUTHORIZED,
    TOO_MANY_REQUESTS
  }

  private static boolean authenticate(String password) {
    return password.equals(PASSWORD);
  }

  /** Wrong: a good login costs as much as a bad one. */
  private Answer limitFirst(String password) {
    if (limiter.spend(BAD_LOGINS, IP).denied()) {
      return Answer.TOO_MANY_REQUESTS;
    }
    return authenticate(password) ? Answer.WELCOME : Answer.UNAUTHORIZED;
  }

  /** Wrong: the password has been tried by the time that the limit is asked. */
  private Answer limitAfterwards(String password) {
    if (!authenticate(password)) {
      return limiter.spend(BAD_LOGINS, IP).denied()
          ? Answer.TOO_MANY_REQUESTS
          : Answer.UNAUTHORIZED;
    }
    return Answer.WELCOME;
  }

  /** Right, but for attempts at once; and two calls, of which one is easily lost. */
  private Answer twoParts(String password) {
    if (limiter.check(BAD_LOGINS, IP).denied()) {
      return Answer.TOO_MANY_REQUESTS;
    }
    if (!authenticate(password)) {
      var unused = limiter.spend(BAD_LOGINS, IP);
      return Answer.UNAUTHORIZED;
    }
    return Answer.WELCOME;
  }

  /** Right. */
  private Answer reservation(String password) {
    try (Reservation attempt = limiter.reserve(BAD_LOGINS, IP)) {
      if (attempt.denied()) {
        return Answer.TOO_MANY_REQUESTS;
      }
      if (authenticate(password)) {
        attempt.cancel();
        return Answer.WELCOME;
      }
      return Answer.UNAUTHORIZED;
    }
  }

  private static long count(int attempts, Predicate<Integer> expected) {
    return IntStream.range(0, attempts).boxed().filter(expected).count();
  }

  @Test
  void limitFirst_goodLogins_areTurnedAway() {
    assertThat(count(100, i -> limitFirst(PASSWORD) == Answer.WELCOME)).isEqualTo(30);
    assertThat(limitFirst(PASSWORD)).isEqualTo(Answer.TOO_MANY_REQUESTS);
  }

  @Test
  void limitAfterwards_attackerWhoIgnoresTheAnswer_getsIn() {
    assertThat(count(100, i -> limitAfterwards("guess " + i) == Answer.UNAUTHORIZED)).isEqualTo(30);
    assertThat(limitAfterwards("one guess more")).isEqualTo(Answer.TOO_MANY_REQUESTS);
    assertThat(limitAfterwards(PASSWORD)).isEqualTo(Answer.WELCOME);
  }

  @Test
  void twoParts_goodLogins_costNothing() {
    assertThat(count(100, i -> twoParts(PASSWORD) == Answer.WELCOME)).isEqualTo(100);
  }

  @Test
  void twoParts_badLogins_stopAtTheLimit() {
    assertThat(count(100, i -> twoParts("guess " + i) == Answer.UNAUTHORIZED)).isEqualTo(30);
    assertThat(twoParts(PASSWORD)).isEqualTo(Answer.TOO_MANY_REQUESTS);
  }

  /** Where many attempts are between the check and the spend, all of them pass the check. */
  @Test
  void twoParts_attemptsAtOnce_passTheLimit() {
    long checked = count(100, i -> limiter.check(BAD_LOGINS, IP).allowed());
    assertThat(checked).as("guesses tried before the first one is spent").isEqualTo(100);
  }

  @Test
  void reservation_goodLogins_costNothing() {
    assertThat(count(100, i -> reservation(PASSWORD) == Answer.WELCOME)).isEqualTo(100);
    assertThat(limiter.check(BAD_LOGINS, IP, 0).remaining()).isEqualTo(30);
  }

  @Test
  void reservation_badLogins_stopAtTheLimit() {
    assertThat(count(100, i -> reservation("guess " + i) == Answer.UNAUTHORIZED)).isEqualTo(30);
    assertThat(reservation(PASSWORD)).isEqualTo(Answer.TOO_MANY_REQUESTS);
  }

  @Test
  void reservation_attemptsAtOnce_stopAtTheLimit() {
    assertThat(count(100, i -> limiter.reserve(BAD_LOGINS, IP).allowed())).isEqualTo(30);
  }
}
