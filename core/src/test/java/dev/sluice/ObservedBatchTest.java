// SPDX-License-Identifier: Apache-2.0
package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What an observer hears of a batch: spends that happened, and denials. */
final class ObservedBatchTest {

  private static final Limits LIMITS =
      Limits.builder(
              Catalogue.of(
                  LimitName.builder(1, "Calls").id(IdFormat.string()).build(),
                  LimitName.builder(2, "Orders").id(IdFormat.string()).build()))
          .limit("Calls", Quota.per(10, Duration.ofHours(1)))
          .limit("Orders", Quota.per(1, Duration.ofHours(1)))
          .build();

  private final List<String> heard = new ArrayList<>();
  private final Limiter limiter =
      Limiter.builder(new CurrentLimits(LIMITS), BucketStore.inMemory(() -> 0))
          .observer(
              new LimiterObserver() {
                @Override
                public void decided(Act act, Decision decision, long elapsedNanos) {
                  if (elapsedNanos < 0 || elapsedNanos > 60_000_000_000L) {
                    heard.add("took " + elapsedNanos + " ns");
                  }
                  Transaction transaction = decision.transaction();
                  heard.add(
                      "%s %s %s, remaining %s"
                          .formatted(
                              act,
                              transaction == null ? "nothing" : transaction.name().name(),
                              decision.allowed() ? "allowed" : "denied",
                              decision.remaining()));
                }
              })
          .build();

  private List<Transaction> batch() {
    return List.of(limiter.transaction("Calls", "x"), limiter.transaction("Orders", "x"));
  }

  @Test
  void spendBatch_allowed_isHeardAsSpends() {
    assertThat(limiter.spend(batch()).allowed()).isTrue();

    assertThat(heard)
        .containsExactly("SPEND Calls allowed, remaining 9", "SPEND Orders allowed, remaining 0");
  }

  @Test
  void spendBatch_denied_isHeardAsADenialAndChecks() {
    assertThat(limiter.spend(batch()).allowed()).isTrue();
    heard.clear();

    assertThat(limiter.spend(batch()).denied()).isTrue();
    assertThat(limiter.async().spend(batch()).toCompletableFuture().join().denied()).isTrue();
    try (Reservation refused = limiter.reserve(batch())) {
      assertThat(refused.denied()).isTrue();
    }

    String passed = "CHECK Calls allowed, remaining 9";
    String denied = "SPEND Orders denied, remaining 0";
    assertThat(heard).containsExactly(passed, denied, passed, denied, passed, denied);
  }

  @Test
  void refundBatch_ofWhichOneGaveNothingBack_isHeardAsRefunds() {
    assertThat(limiter.spend("Calls", "x").allowed()).isTrue();
    heard.clear();

    assertThat(limiter.refund(batch()).denied()).isTrue();

    assertThat(heard)
        .containsExactly("REFUND Calls allowed, remaining 10", "REFUND Orders denied, remaining 1");
  }
}
