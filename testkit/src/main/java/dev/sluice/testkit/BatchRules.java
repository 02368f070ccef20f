// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static dev.sluice.testkit.Bench.A;
import static dev.sluice.testkit.Bench.B;
import static dev.sluice.testkit.Bench.C;
import static dev.sluice.testkit.Bench.ID;
import static dev.sluice.testkit.Bench.OFF;
import static dev.sluice.testkit.DecisionAssert.assertThat;
import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.Transaction;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.InvalidRequestException.Field;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Tests of batches with all kinds of transactions. A store charges either all transactions of a
 * batch or none. The decision on a batch is the decision on its strictest transaction.
 */
interface BatchRules extends DrivenStores {

  @Test
  default void spendBatch_allFit_spendsEach() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Decision decision =
          bench.limiter.spend(List.of(bench.on(A, 1), bench.on(B, 4), bench.on(C, 2)));
      assertThat(decision).isAllowed().hasRemaining(6);
      assertThat(decision.parts()).extracting(Decision::remaining).containsExactly(9L, 6L, 8L);
      assertThat(bench.state(A)).hasRemaining(9);
      assertThat(bench.state(B)).hasRemaining(6);
      assertThat(bench.state(C)).hasRemaining(8);
    }
  }

  @Test
  default void spendBatch_oneDoesNotFit_spendsNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.limiter.spend(B, ID, 9)).isAllowed();
      Decision decision =
          bench.limiter.spend(List.of(bench.on(A, 5), bench.on(B, 2), bench.on(C, 5).spendOnly()));
      assertThat(decision).isDenied().hasRemaining(1).retriesIn(ofMillis(100));
      assertThat(decision.parts()).extracting(Decision::allowed).containsExactly(true, false, true);
      assertThat(bench.state(A)).hasRemaining(10);
      assertThat(bench.state(B)).hasRemaining(1);
      assertThat(bench.state(C)).hasRemaining(10);
    }
  }

  @Test
  default void spendBatch_denied_partsSayWhatTheirBucketsStillHold() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.limiter.spend(A, ID, 3)).isAllowed();
      assertThat(bench.limiter.spend(B, ID, 9)).isAllowed();
      Decision decision =
          bench.limiter.spend(List.of(bench.on(A, 5), bench.on(B, 2), bench.on(C, 6).spendOnly()));
      assertThat(decision).isDenied();
      assertThat(decision.parts().get(0))
          .isAllowed()
          .hasRemaining(7)
          .retriesIn(ZERO)
          .resetsIn(ofMillis(300));
      assertThat(decision.parts().get(1)).isDenied().hasRemaining(1).resetsIn(ofMillis(900));
      assertThat(decision.parts().get(2))
          .isAllowed()
          .hasRemaining(10)
          .retriesIn(ZERO)
          .resetsIn(ZERO);
    }
  }

  @Test
  default void spendBatch_deniedTwice_answersWithTheLongerWait() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.limiter.spend(List.of(bench.on(A, 9), bench.on(B, 8)))).isAllowed();
      Decision decision = bench.limiter.spend(List.of(bench.on(A, 2), bench.on(B, 5)));
      assertThat(decision).isDenied().hasRemaining(2).retriesIn(ofMillis(300));
      assertThat(decision.transaction()).hasToString(bench.on(B, 5).toString());
    }
  }

  @Test
  default void spendBatch_allowedWithOneWait_isLessStrictThanADenial() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.limiter.spend(B, ID, 10)).isAllowed();
      // Limit A allows the spend, and would allow it again in 1 s. Limit B denies the spend for 100
      // ms. The decision on the batch must be the denial of limit B, although the wait of limit A
      // is longer.
      Decision decision = bench.limiter.spend(List.of(bench.on(A, 10), bench.on(B, 1)));
      assertThat(decision).isDenied().retriesIn(ofMillis(100));
    }
  }

  @Test
  default void spendBatch_equalWaits_answersWithTheSmallerRest() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Decision decision = bench.limiter.spend(List.of(bench.on(A, 3), bench.on(B, 1)));
      assertThat(decision).isAllowed().hasRemaining(7).retriesIn(ZERO);
    }
  }

  @Test
  default void spendBatch_twoOnOneBucket_isRefusedAndChangesNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      List<Transaction> twice = List.of(bench.on(A, 1), bench.on(B, 1), bench.on(A, 2).checkOnly());
      assertRefused(() -> bench.limiter.spend(twice), Field.TRANSACTIONS, "1:" + ID);
      assertRefused(() -> bench.limiter.check(twice), Field.TRANSACTIONS, "1:" + ID);
      assertRefused(() -> bench.limiter.refund(twice), Field.TRANSACTIONS, "1:" + ID);
      assertRefused(
          () -> {
            bench.limiter.reset(twice);
            return "reset";
          },
          Field.TRANSACTIONS,
          "1:" + ID);
      assertThat(bench.state(A)).hasRemaining(10);
      assertThat(bench.state(B)).hasRemaining(10);
    }
  }

  @Test
  default void spendBatch_resetOnly_isRefused() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      List<Transaction> reset = List.of(bench.on(A, 1), bench.on(B, 1).resetOnly());
      assertRefused(() -> bench.limiter.spend(reset), Field.KIND, "2:" + ID);
      assertThat(bench.state(A)).hasRemaining(10);
    }
  }

  private static void assertRefused(Supplier<?> act, Field field, String place) {
    assertThatThrownBy(act::get)
        .isInstanceOf(InvalidRequestException.class)
        .hasMessageContaining(place)
        .extracting(thrown -> ((InvalidRequestException) thrown).field())
        .isEqualTo(field);
  }

  @Test
  default void spendBatch_checkOnly_deniesAndNeverSpends() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      List<Transaction> batch = List.of(bench.on(A, 1), bench.on(B, 4).checkOnly());
      assertThat(bench.limiter.spend(batch)).isAllowed().hasRemaining(6);
      assertThat(bench.state(B)).hasRemaining(10);
      assertThat(bench.limiter.spend(B, ID, 7)).isAllowed();
      assertThat(bench.limiter.spend(batch)).isDenied().hasRemaining(3).retriesIn(ofMillis(100));
      assertThat(bench.state(A)).hasRemaining(9);
      assertThat(bench.state(B)).hasRemaining(3);
    }
  }

  @Test
  default void spendBatch_spendOnly_spendsIfItFitsAndNeverDenies() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      List<Transaction> batch = List.of(bench.on(A, 1), bench.on(B, 6).spendOnly());
      assertThat(bench.limiter.spend(batch)).isAllowed().hasRemaining(9);
      assertThat(bench.state(B)).hasRemaining(4);
      Decision second = bench.limiter.spend(batch);
      assertThat(second).isAllowed().hasRemaining(8);
      assertThat(second.parts().get(1)).isDenied().hasRemaining(4);
      assertThat(bench.state(A)).hasRemaining(8);
      assertThat(bench.state(B)).hasRemaining(4);
    }
  }

  @Test
  default void spendBatch_nothingThatCounts_isAllowedWithoutALimit() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(bench.limiter.spend(List.of())).isAllowed().hasRemaining(Long.MAX_VALUE);
      assertThat(bench.limiter.spend(List.of(bench.on(OFF, 5), bench.on(A, 5).allowOnly())))
          .isAllowed()
          .hasRemaining(Long.MAX_VALUE)
          .retriesIn(ZERO);
      assertThat(bench.state(A)).hasRemaining(10);
    }
  }

  @Test
  default void spendBatch_withADisabledLimit_isDecidedByTheOthers() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Decision decision = bench.limiter.spend(List.of(bench.on(OFF, 5), bench.on(A, 4)));
      assertThat(decision).isAllowed().hasRemaining(6);
      assertThat(decision.parts())
          .extracting(Decision::remaining)
          .containsExactly(Long.MAX_VALUE, 6L);
      assertThat(bench.limiter.spend(List.of(bench.on(OFF, 5), bench.on(A, 7)))).isDenied();
    }
  }

  @Test
  default void checkBatch_anyKind_answersAndChangesNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      List<Transaction> batch =
          List.of(bench.on(A, 5), bench.on(B, 6).checkOnly(), bench.on(C, 9).spendOnly());
      assertThat(bench.limiter.check(batch)).isAllowed().hasRemaining(4);
      for (String limit : List.of(A, B, C)) {
        assertThat(bench.state(limit)).hasRemaining(10);
      }
    }
  }

  @Test
  default void spendBatch_manyBuckets_isAllOrNothing() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      List<Transaction> hundred =
          IntStream.range(0, 100)
              .mapToObj(i -> bench.limiter.transaction(A, "id-" + i).withCost(i % 10 + 1))
              .toList();
      assertThat(bench.limiter.spend(hundred)).isAllowed().hasRemaining(0);
      bench.time.advance(ofMillis(900));
      assertThat(bench.limiter.spend(hundred)).isDenied().retriesIn(ofMillis(100));
      assertThat(bench.limiter.check(A, "id-0", 0)).hasRemaining(10);
      bench.time.advance(ofMillis(100));
      assertThat(bench.limiter.spend(hundred)).isAllowed();
    }
  }
}
