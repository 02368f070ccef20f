// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A reservation of several limits of which some are given back. */
class PartialCancelTest {

  private static final Limits LIMITS =
      Limits.builder(Catalogue.samples())
          .limit("LoginsPerIPAddress", Quota.per(10, Duration.ofMinutes(1)))
          .limit("FailedLoginsPerIPAddress", Quota.per(30, Duration.ofHours(1)))
          .build();

  private final Limiter limiter = Limiter.of(LIMITS, BucketStore.inMemory(() -> 1_000));

  @Test
  void cancel_ofSome_leavesTheOthersSpent() {
    try (Reservation both = reserveBoth()) {
      both.cancel(t -> t.name().name().equals("FailedLoginsPerIPAddress"));
    }

    assertThat(remaining("LoginsPerIPAddress")).isEqualTo(9);
    assertThat(remaining("FailedLoginsPerIPAddress")).isEqualTo(30);
  }

  /** Who leaves the rest spent says so once: it need not be closed as well. */
  @Test
  void cancel_ofSome_settlesTheOthers() {
    Reservation both = reserveBoth();
    assertThat(limiter.openReservations().size()).isEqualTo(2);
    both.cancel(t -> t.name().name().equals("FailedLoginsPerIPAddress"));
    assertThat(limiter.openReservations().size()).isZero();
  }

  @Test
  void cancel_ofTheRest_afterwards_doesNothing() {
    try (Reservation both = reserveBoth()) {
      both.cancel(t -> t.name().name().equals("FailedLoginsPerIPAddress"));
      both.cancel();
    }

    assertThat(remaining("LoginsPerIPAddress")).isEqualTo(9);
  }

  @Test
  void cancel_withAChoiceThatThrows_canBeDoneAgain() {
    try (Reservation both = reserveBoth()) {
      assertThatThrownBy(
              () ->
                  both.cancel(
                      t -> {
                        throw new IllegalStateException("undecided");
                      }))
          .hasMessage("undecided");
      both.cancel();
    }

    assertThat(remaining("LoginsPerIPAddress")).isEqualTo(10);
    assertThat(remaining("FailedLoginsPerIPAddress")).isEqualTo(30);
  }

  @Test
  void split_letsEachPartEndByItself() {
    Reservation both = reserveBoth();
    List<Reservation> parts = both.split(t -> t.name().name().equals("LoginsPerIPAddress"));
    both.cancel();
    assertThat(limiter.openReservations().size()).isEqualTo(2);

    parts.get(0).cancel();
    assertThat(limiter.openReservations().size()).isEqualTo(1);
    assertThat(remaining("LoginsPerIPAddress")).isEqualTo(10);
    assertThat(remaining("FailedLoginsPerIPAddress")).isEqualTo(29);

    assertThat(parts.get(1).settle(Map.of("FailedLoginsPerIPAddress", 3L)).settled()).isTrue();
    assertThat(limiter.openReservations().size()).isZero();
    assertThat(remaining("FailedLoginsPerIPAddress")).isEqualTo(27);
  }

  @Test
  void split_ofAnEndedReservation_hasNothingToGiveBack() {
    Reservation both = reserveBoth();
    both.close();
    for (Reservation part : both.split(t -> t.name().name().equals("LoginsPerIPAddress"))) {
      part.cancel();
      assertThat(part.settle(Map.of("LoginsPerIPAddress", 3L)).settled()).isFalse();
    }
    assertThat(remaining("LoginsPerIPAddress")).isEqualTo(9);
    assertThat(remaining("FailedLoginsPerIPAddress")).isEqualTo(29);
  }

  @Test
  void shadow_isATrial_onABucketOfItsOwn() {
    Transaction trial =
        limiter.transaction("LoginsPerIPAddress", "192.0.2.7").inShadow().withCost(10);

    assertThat(limiter.spend(List.of(trial)).allowed()).isTrue();
    Decision second = limiter.spend(List.of(trial.withCost(1)));

    assertThat(second.denied()).isTrue();
    assertThat(second.transaction().isShadow()).isTrue();
    assertThat(second.transaction().bucketKey()).isEqualTo("shadow-101:192.0.2.7");
    assertThat(remaining("LoginsPerIPAddress")).isEqualTo(10);
    assertThat(limiter.transaction("LoginsPerIPAddress", "192.0.2.7").isShadow()).isFalse();
  }

  private Reservation reserveBoth() {
    return limiter.reserve(
        List.of(
            limiter.transaction("LoginsPerIPAddress", "192.0.2.7"),
            limiter.transaction("FailedLoginsPerIPAddress", "192.0.2.7")));
  }

  private long remaining(String limit) {
    return limiter.check(limit, "192.0.2.7", 0).remaining();
  }
}
