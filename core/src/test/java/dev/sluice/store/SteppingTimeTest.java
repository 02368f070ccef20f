// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** A store whose clock steps back: its answers follow from the charges and their times alone. */
class SteppingTimeTest {

  private static final long SECOND = 1_000_000_000;
  private static final long START = 1_700_000_000 * SECOND;
  private static final Duration HOUR = Duration.ofHours(1);

  private final AtomicLong nowNanos = new AtomicLong(START);

  private MemoryStore store() {
    return MemoryStore.builder().time(nowNanos::get).stepsBackUpTo(HOUR).build();
  }

  /** Thousands of keys that fill up, so that the cleaner has much to forget, and steps back. */
  @Test
  void trace_thatStepsBack_hasOneAnswer() {
    for (long seed = 0; seed < 5; seed++) {
      Random random = new Random(seed);
      MemoryStore store = store();
      Map<String, Long> map = new HashMap<>();
      nowNanos.set(START);
      long latestNanos = START;
      for (int i = 0; i < 40_000; i++) {
        long stepNanos = random.nextLong(40 * SECOND);
        boolean back = random.nextInt(3) == 0;
        nowNanos.addAndGet(back ? -stepNanos / 2 : stepNanos);
        latestNanos = Math.max(latestNanos, nowNanos.get());
        nowNanos.set(Math.max(nowNanos.get(), latestNanos - HOUR.toNanos()));
        Op act = random.nextInt(10) == 0 ? Op.RESET : Op.SPEND;
        String key = "1:" + random.nextInt(3_000);
        long offsetNanos = act == Op.RESET ? 0 : 100_000 * SECOND;
        long costNanos = act == Op.RESET ? 0 : 1 + random.nextLong(60 * SECOND);
        Charge charge = new Charge(key, act, costNanos, offsetNanos, Effect.NO_END);
        Reading reading = store.charge(List.of(charge)).get(0);
        long now = nowNanos.get();
        long tatNanos = map.getOrDefault(key, 0L);
        long seenNanos = tatNanos > now ? tatNanos : 0;
        assertThat(reading).as("seed %d, act %d", seed, i).isEqualTo(new Reading(now, seenNanos));
        map.put(key, charge.tatAfterNanos(now, seenNanos, true));
      }
    }
  }

  /** New keys want the slots of those that are full; after the step back they are not full. */
  @Test
  void fullBuckets_beforeAStepBack_areThereAfterIt() {
    MemoryStore store = store();
    for (int id = 0; id < 2_000; id++) {
      assertThat(charge(store, Op.SPEND, "1:" + id).tatNanos()).isZero();
    }
    nowNanos.addAndGet(2 * SECOND);
    for (int id = 0; id < 6_000; id++) {
      assertThat(charge(store, Op.SPEND, "2:" + id).tatNanos()).isZero();
    }
    nowNanos.set(START);
    for (int id = 0; id < 2_000; id++) {
      assertThat(charge(store, Op.CHECK, "1:" + id).tatNanos()).isEqualTo(START + SECOND);
    }
  }

  /**
   * At the bound, what was full an hour before the latest time is forgotten, at whatever time
   * others ask. So a step back makes no bucket live again that one hash had tidied, and another
   * not.
   */
  @Test
  void trace_atTheBound_isRefusedByItsTimesAlone() {
    for (int hash = 0; hash < 20; hash++) {
      Random random = new Random(1); // one trace
      MemoryStore store =
          MemoryStore.builder().time(nowNanos::get).stepsBackUpTo(HOUR).maxBuckets(40).build();
      Map<String, Long> map = new HashMap<>();
      nowNanos.set(START);
      long latestNanos = START;
      int refused = 0;
      for (int i = 0; i < 3_000; i++) {
        long stepNanos = random.nextLong(600 * SECOND);
        nowNanos.addAndGet(random.nextInt(3) == 0 ? -2 * stepNanos : stepNanos);
        latestNanos = Math.max(latestNanos, nowNanos.get());
        long earliestNanos = latestNanos - HOUR.toNanos();
        nowNanos.set(Math.max(nowNanos.get(), earliestNanos));
        map.values().removeIf(tatNanos -> tatNanos <= earliestNanos);
        String key = "1:" + random.nextInt(60);
        long costNanos = 1 + random.nextLong(900 * SECOND);
        Charge charge = new Charge(key, Op.SPEND, costNanos, 100_000 * SECOND, Effect.NO_END);
        if (map.size() == 40 && !map.containsKey(key)) {
          refused++;
          assertThatThrownBy(() -> store.charge(List.of(charge)))
              .as("act %d", i)
              .hasMessageContaining("memory store full: 40 live buckets");
        } else {
          long now = nowNanos.get();
          long seenNanos = map.getOrDefault(key, 0L) > now ? map.get(key) : 0;
          assertThat(store.charge(List.of(charge)).get(0))
              .as("act %d", i)
              .isEqualTo(new Reading(now, seenNanos));
          map.put(key, charge.tatAfterNanos(now, seenNanos, true));
        }
      }
      assertThat(refused).isBetween(100, 2_900);
    }
  }

  private static Reading charge(MemoryStore store, Op act, String key) {
    return store.charge(List.of(new Charge(key, act, SECOND, 9 * SECOND, Effect.NO_END))).get(0);
  }

  @Test
  void step_furtherBackThanWasSaid_isRefusedAndChargesNothing() {
    MemoryStore store = store();
    List<Charge> spend =
        new ArrayList<>(List.of(new Charge("1:a", Op.SPEND, SECOND, 9 * SECOND, Effect.NO_END)));
    assertThat(store.charge(spend)).hasSize(1);
    nowNanos.addAndGet(-HOUR.toNanos() - 1);
    assertThatThrownBy(() -> store.charge(spend))
        .isInstanceOfSatisfying(
            StoreException.class, failure -> assertThat(failure.chargedNothing()).isTrue())
        .hasMessageContaining("the clock stepped back by PT1H0.000000001S")
        .hasMessageEndingWith("; nothing was charged");
    nowNanos.addAndGet(1);
    assertThat(store.charge(spend).get(0).tatNanos()).isEqualTo(START + SECOND);
  }

  @Test
  void stepsBackUpTo_negativeOrTooLong_isRefused() {
    MemoryStore.Builder builder = MemoryStore.builder();
    assertThatThrownBy(() -> builder.stepsBackUpTo(Duration.ofDays(200_000)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("292 years");
    assertThatThrownBy(() -> builder.stepsBackUpTo(Duration.ofNanos(-1)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("stepsBackUpTo");
  }
}
