package dev.sluice;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.Outstanding.Stretch;
import dev.sluice.gcra.Quota;
import dev.sluice.limit.Catalogue;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.Limits;
import dev.sluice.store.BucketStore;
import dev.sluice.store.Charge;
import dev.sluice.store.Charge.Act;
import dev.sluice.store.Reading;
import dev.sluice.store.TimeSource;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class OutstandingTest {

  private final Outstanding outstanding = new Outstanding();

  private static List<Charge> spend(String key) {
    return List.of(new Charge(key, Act.SPEND, 100, 1_000, Charge.NO_END));
  }

  private Stretch placed(long spentAtNanos, long untilNanos) {
    Stretch stretch = outstanding.open(spend("1:a")).get(0);
    outstanding.place(stretch, spentAtNanos, untilNanos);
    return stretch;
  }

  private void refunded(long nowNanos, long tatNanos, long refundNanos, long endNanos) {
    outstanding.lowered(
        List.of(new Charge("1:a", Act.REFUND, refundNanos, 1_000, endNanos)),
        List.of(new Reading(nowNanos, tatNanos)));
  }

  @Test
  void lowered_byAnEarlierStretch_movesTheLaterOnesUp() {
    Stretch first = placed(5_000, 5_100);
    Stretch third = placed(5_000, 5_300);
    refunded(5_050, 5_300, 100, 5_200);
    assertThat(first.untilNanos()).isEqualTo(5_100);
    assertThat(third.untilNanos()).isEqualTo(5_200);
  }

  @Test
  void lowered_byAPlainRefund_movesAllUp() {
    Stretch stretch = placed(5_000, 5_300);
    refunded(5_050, 5_400, 70, Charge.NO_END);
    assertThat(stretch.untilNanos()).isEqualTo(5_230);
  }

  @Test
  void lowered_onAnotherBucket_changesNothing() {
    Stretch stretch = placed(5_000, 5_300);
    outstanding.lowered(
        List.of(new Charge("1:b", Act.RESET, 0, 0, Charge.NO_END)),
        List.of(new Reading(5_000, 5_300)));
    assertThat(stretch.untilNanos()).isEqualTo(5_300);
  }

  /**
   * The race: a refund is made, then the spend, and its news comes while the spend is on its way.
   */
  @Test
  void lowered_beforeTheSpend_isIgnored() {
    Stretch stretch = outstanding.open(spend("1:a")).get(0);
    refunded(4_999, 5_200, 150, Charge.NO_END);
    outstanding.place(stretch, 5_000, 5_300);
    assertThat(stretch.untilNanos()).isEqualTo(5_300);
  }

  /** The race: the spend is made, then a refund, whose news comes before that of the spend. */
  @Test
  void lowered_whileTheSpendWasOnItsWay_counts() {
    Stretch stretch = outstanding.open(spend("1:a")).get(0);
    refunded(5_001, 5_300, 150, Charge.NO_END);
    outstanding.place(stretch, 5_000, 5_300);
    assertThat(stretch.untilNanos()).isEqualTo(5_150);
  }

  @Test
  void lapse_placed_givesNothingBack() {
    Stretch stretch = placed(5_000, 5_300);
    outstanding.lapse(spend("1:a"));
    assertThat(stretch.untilNanos()).isZero();
  }

  @Test
  void place_manyNeverClosed_areSweptOnceTheirTokensCameBack() {
    for (int i = 0; i < 100_000; i++) {
      Stretch unused = placed(5_000 + 10L * i, 5_100 + 10L * i);
    }
    assertThat(outstanding.size()).isLessThan(3_000);
  }

  @Test
  void close_twice_isCountedOnce() {
    Stretch stretch = placed(5_000, 5_300);
    outstanding.close(List.of(stretch));
    outstanding.close(stretch);
    assertThat(outstanding.size()).isZero();
  }

  @Test
  void reserve_settledOrDenied_isNotOutstanding() {
    Limits samples =
        Limits.builder(Catalogue.samples())
            .limit("ApiCallsPerKey", Quota.per(3, Duration.ofSeconds(1)))
            .build();
    CurrentLimits limits = new CurrentLimits(samples);
    Engine engine =
        new Engine(
            BucketStore.inMemory(() -> 1),
            Engine.NOBODY,
            new FailureRules(FailureRule.fail(), Map.of(), TimeSource.system()));
    Transaction two = Transaction.of(samples, "ApiCallsPerKey", "a").withCost(2);
    Reservation cancelled = engine.reserve(limits, List.of(two));
    assertThat(engine.ledger().outstanding().size()).isEqualTo(1);
    cancelled.cancel();
    engine.reserve(limits, List.of(two)).close();
    assertThat(engine.reserve(limits, List.of(two)).denied()).isTrue();
    assertThat(engine.ledger().outstanding().size()).isZero();
  }
}
