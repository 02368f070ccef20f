// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Tests of the interface {@link BucketStore}: results, unusual keys, and closing. */
interface StoreRules extends DrivenStores {

  private static Charge spend(String key, long incrementNanos) {
    return new Charge(key, Op.SPEND, incrementNanos, 1_000, Effect.NO_END);
  }

  /** Charges buckets in one batch. Returns the store's time and the TATs before the charges. */
  @CanIgnoreReturnValue
  private static List<Reading> charge(BucketStore store, Charge... charges) {
    return store.charge(List.of(charges));
  }

  private static Charge of(String key, Op act, long incrementNanos) {
    return new Charge(key, act, incrementNanos, act == Op.RESET ? 0 : 1_000, Effect.NO_END);
  }

  @Test
  default void charge_batch_readsOneTimeAndTheTatsBefore() {
    ManualTime time = new ManualTime();
    try (BucketStore store = newStore(time)) {
      long start = time.nanos();
      assertThat(store.charge(List.of(spend("1:b", 100), spend("1:a", 200), spend("1:c", 300))))
          .containsExactly(
              new Reading(start, Gcra.NO_TAT),
              new Reading(start, Gcra.NO_TAT),
              new Reading(start, Gcra.NO_TAT));
      time.advanceNanos(7);
      assertThat(store.charge(List.of(spend("1:c", 1), spend("1:b", 1), spend("1:a", 1))))
          .containsExactly(
              new Reading(start + 7, start + 300),
              new Reading(start + 7, start + 100),
              new Reading(start + 7, start + 200));
    }
  }

  @Test
  default void charge_mixedActs_takeEffectTogetherOrNotAtAll() {
    ManualTime time = new ManualTime();
    try (BucketStore store = newStore(time)) {
      long start = time.nanos();
      List<String> keys = List.of("1:spend", "1:check", "1:best", "1:refund", "1:reset");
      keys.forEach(key -> charge(store, spend(key, 400)));
      List<Charge> denied = mixed(700);
      assertThat(store.charge(denied)).hasSize(5);
      assertThat(tats(store, keys)).as("after a denial").containsOnly(start + 400);
      assertThat(store.charge(mixed(600))).hasSize(5);
      assertThat(tats(store, keys))
          .as("after an allowed batch")
          .containsExactly(start + 500, start + 400, start + 500, start + 300, Gcra.NO_TAT);
    }
  }

  private static List<Charge> mixed(long checkedNanos) {
    return List.of(
        of("1:spend", Op.SPEND, 100),
        of("1:check", Op.CHECK, checkedNanos),
        of("1:best", Op.SPEND_ONLY, 100),
        of("1:refund", Op.REFUND, 100),
        of("1:reset", Op.RESET, 0));
  }

  private static List<Long> tats(BucketStore store, List<String> keys) {
    return store.charge(keys.stream().map(key -> of(key, Op.CHECK, 0)).toList()).stream()
        .map(Reading::tatNanos)
        .toList();
  }

  private static Charge withdrawal(long nanos, long tatNanos) {
    return new Charge("1:a", Op.WITHDRAW, nanos, 1_000, tatNanos);
  }

  @Test
  default void charge_withdrawalOfTheLastSpend_givesItBack() {
    ManualTime time = new ManualTime();
    try (BucketStore store = newStore(time)) {
      long start = time.nanos();
      charge(store, spend("1:a", 300));
      charge(store, spend("1:a", 500));
      assertThat(store.charge(List.of(withdrawal(500, start + 800))).get(0).tatNanos())
          .isEqualTo(start + 800);
      assertThat(tats(store, List.of("1:a"))).containsExactly(start + 300);
      time.advanceNanos(100);
      assertThat(store.charge(List.of(withdrawal(300, start + 300)))).hasSize(1);
      assertThat(tats(store, List.of("1:a")))
          .as("the withdrawal of a spend leaves at most a full bucket")
          .allMatch(tat -> tat <= time.nanos());
    }
  }

  @Test
  default void charge_withdrawalOfASpendThatOthersFollowed_doesNothing() {
    ManualTime time = new ManualTime();
    try (BucketStore store = newStore(time)) {
      long start = time.nanos();
      assertThat(store.charge(List.of(withdrawal(300, start + 300))).get(0).tatNanos())
          .as("the withdrawal of a spend creates no bucket")
          .isEqualTo(Gcra.NO_TAT);
      charge(store, spend("1:a", 300));
      charge(store, spend("1:a", 500));
      for (long other : new long[] {start + 300, start + 799, start + 801, Effect.NO_END}) {
        assertThat(store.charge(List.of(withdrawal(300, other)))).hasSize(1);
        assertThat(tats(store, List.of("1:a"))).as("%s", other).containsExactly(start + 800);
      }
    }
  }

  /**
   * A store whose script computes with floating-point numbers cannot represent an interval of a
   * third of a day exactly.
   */
  @Test
  default void charge_spendUpTo_takesTheWholeTokensThatFit() {
    for (long intervalNanos : new long[] {1, 7, 1_000_000_007, 28_800_000_000_001L, 1L << 55}) {
      ManualTime time = new ManualTime();
      try (BucketStore store = newStore(time)) {
        long start = time.nanos();
        Charge upTo = upTo(60 * intervalNanos, 100 * intervalNanos, intervalNanos);
        charge(store, upTo);
        assertThat(tats(store, List.of("1:a")))
            .as("60 of 100 tokens with the interval %s are spent", intervalNanos)
            .containsExactly(start + 60 * intervalNanos);
        time.advanceNanos(intervalNanos - 1);
        charge(store, upTo);
        assertThat(tats(store, List.of("1:a")))
            .as("only 40 tokens with the interval %s are left", intervalNanos)
            .containsExactly(start + 100 * intervalNanos);
        charge(store, upTo);
        assertThat(tats(store, List.of("1:a")))
            .as("no token with the interval %s is left", intervalNanos)
            .containsExactly(start + 100 * intervalNanos);
        time.advanceNanos(1);
        charge(store, upTo);
        assertThat(tats(store, List.of("1:a")))
            .as("one token with the interval %s has refilled", intervalNanos)
            .containsExactly(start + 101 * intervalNanos);
      }
    }
  }

  private static Charge upTo(long incrementNanos, long offsetNanos, long intervalNanos) {
    return new Charge("1:a", Op.SPEND_UP_TO, incrementNanos, offsetNanos, intervalNanos);
  }

  @Test
  default void charge_refundWithAnEnd_givesBackUpToIt() {
    ManualTime time = new ManualTime();
    try (BucketStore store = newStore(time)) {
      long start = time.nanos();
      charge(store, spend("1:a", 800));
      assertThat(store.charge(List.of(new Charge("1:a", Op.REFUND, 500, 1_000, start + 200))))
          .hasSize(1);
      assertThat(tats(store, List.of("1:a"))).containsExactly(start + 600);
      assertThat(store.charge(List.of(new Charge("1:a", Op.REFUND, 500, 1_000, start)))).hasSize(1);
      assertThat(tats(store, List.of("1:a"))).containsExactly(start + 600);
    }
  }

  @Test
  default void charge_oneKeyTwiceInABatch_isRefusedByItsName() {
    try (BucketStore store = newStore(new ManualTime())) {
      charge(store, spend("1:a", 100));
      List<Charge> twice = List.of(spend("1:b", 1), spend("1:a", 1), spend("1:a", 2));
      assertThatThrownBy(() -> store.charge(twice))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("1:a twice");
      assertThatThrownBy(() -> store.chargeAsync(twice))
          .isInstanceOf(IllegalArgumentException.class);
      assertThat(tats(store, List.of("1:a", "1:b")))
          .containsExactly(ManualTime.START_NANOS + 100, Gcra.NO_TAT);
    }
  }

  /** If a store accepted a time before the epoch, every bucket would count as full. */
  @Test
  default void charge_clockBeforeTheEpoch_isAnErrorAndNoOpenGate() {
    AtomicLong nowNanos = new AtomicLong(ManualTime.START_NANOS);
    try (BucketStore store = newStore(nowNanos::get)) {
      charge(store, spend("1:a", 1_000));
      nowNanos.set(-1);
      for (List<Charge> charges :
          List.of(List.of(spend("1:a", 1)), List.of(spend("1:a", 1), spend("1:b", 1)))) {
        assertThatThrownBy(() -> store.charge(charges))
            .isInstanceOf(StoreException.class)
            .hasMessageContaining("the clock returned -1 ns");
      }
      nowNanos.set(ManualTime.START_NANOS);
      assertThat(tats(store, List.of("1:a", "1:b")))
          .containsExactly(ManualTime.START_NANOS + 1_000, Gcra.NO_TAT);
    }
  }

  /**
   * The store keeps the TAT of a full bucket until a reset. Because the store keeps the TAT, a full
   * bucket is no longer full after the clock has stepped back.
   */
  @Test
  default void charge_fullBuckets_keepTheirTatsUntilAReset() {
    ManualTime time = new ManualTime();
    List<String> keys = List.of("1:checked", "1:denied", "1:reset", "1:both", "1:refunded");
    try (BucketStore store = newStore(time)) {
      long start = time.nanos();
      keys.forEach(key -> charge(store, spend(key, 400)));
      time.advanceNanos(300);
      charge(store, of("1:refunded", Op.REFUND, 100)); // the refund makes the bucket exactly full
      time.advanceNanos(100);
      charge(store, of("1:checked", Op.CHECK, 1));
      charge(
          store, of("1:denied", Op.SPEND, 1), new Charge("1:other", Op.SPEND, 2, 1, Effect.NO_END));
      charge(store, of("1:reset", Op.RESET, 0));
      charge(store, of("1:both", Op.RESET, 0), of("1:checked", Op.CHECK, 1));
      time.advanceNanos(-200);
      assertThat(tats(store, keys))
          .containsExactly(start + 400, start + 400, Gcra.NO_TAT, Gcra.NO_TAT, start + 300);
    }
  }

  /**
   * Any text is a valid key. Two different keys never share a bucket, whatever separators the keys
   * contain. A store neither trims nor truncates keys, nor converts keys to lower case.
   */
  @Test
  default void charge_keysOfAnyKind_areDifferentBuckets() {
    List<String> keys = new ArrayList<>();
    for (String id :
        List.of(
            "a",
            "A",
            " a",
            "a ",
            "á",
            "a\u0301",
            "\u0430",
            "a:b",
            "a:b:",
            ":",
            "::",
            "{a}",
            "{a}b",
            "a\u0000",
            "a\u0000b",
            "a\nb",
            "a\r\nb",
            "\"a\"",
            "'a'",
            "a,b",
            "*",
            "a*",
            "\\",
            "%61",
            "$a",
            "😀",
            "😁",
            "nil",
            "null",
            "0",
            "00",
            "1e3",
            "a".repeat(1_023),
            "a".repeat(1_024),
            // Too long for a database's index: PostgreSQL would compress letters that repeat.
            letters(1_023) + "a",
            letters(1_023) + "b",
            letters(9_999) + "a",
            letters(9_999) + "b")) {
      keys.add("1:" + id);
      keys.add("11:" + id);
    }
    try (BucketStore store = newStore(new ManualTime())) {
      for (int i = 0; i < keys.size(); i++) {
        assertThat(store.charge(List.of(spend(keys.get(i), i + 1))).get(0).tatNanos())
            .as("the key with the index %d had no bucket yet", i)
            .isEqualTo(Gcra.NO_TAT);
      }
      List<Long> tats = tats(store, keys);
      for (int i = 0; i < keys.size(); i++) {
        assertThat(tats.get(i)).isEqualTo(ManualTime.START_NANOS + i + 1);
      }
    }
  }

  /** Letters of three bytes each, the same ones each time. */
  private static String letters(int length) {
    return new Random(1)
        .ints(length, 0x4e00, 0x9fff)
        .mapToObj(Character::toString)
        .collect(Collectors.joining());
  }

  @Test
  default void ping_aStoreThatDecides_isSilent() {
    try (BucketStore store = newStore(new ManualTime())) {
      assertThatCode(store::ping).doesNotThrowAnyException();
    }
  }

  @Test
  default void close_twice_isNoError() {
    BucketStore store = newStore(new ManualTime());
    store.close();
    assertThatCode(store::close).doesNotThrowAnyException();
  }
}
