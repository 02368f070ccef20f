// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.store.BucketStore;
import dev.sluice.store.Charge;
import dev.sluice.store.Reading;
import dev.sluice.testkit.ManualTime;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The script and {@link Charge}, which is the law, on the same random histories. */
final class ScriptAgainstLawTest {

  private static final List<String> KEYS = List.of("1:a", "1:b", "2:a", "2:b", "3:c");
  private static final int BATCHES = 2_500;
  private static final List<Op> ACTS =
      List.of(Op.CHECK, Op.SPEND, Op.SPEND_ONLY, Op.REFUND, Op.WITHDRAW);

  /** Bases: by what the times of a history are measured, from nanoseconds to centuries. */
  @ParameterizedTest
  @ValueSource(longs = {1, 7, 1_000, 50_000_000, 999_999_999, 86_400_000_000_000L, 1L << 61})
  void anyHistory_isDecidedAsTheLawSays(long base) {
    Random random = new Random(base); // the seed of a failure is its parameter
    // The 2090s: a TAT of a tolerance of centuries then needs all 64 bits, unsigned.
    ManualTime time = new ManualTime(TimeUnit.DAYS.toNanos(365L * 125));
    Map<String, Long> tats = new HashMap<>();
    try (BucketStore store =
        TestServers.fresh(TestServers.single(), time).denials(Duration.ZERO).open()) {
      for (int i = 0; i < BATCHES; i++) {
        move(time, base, random);
        List<Charge> batch = batch(base, random, time.nanos(), tats);
        assertThat(store.charge(batch))
            .as("base %d, batch %d: %s at %d", base, i, batch, time.nanos())
            .isEqualTo(decide(batch, tats, time.nanos()));
      }
    }
  }

  private static List<Reading> decide(List<Charge> batch, Map<String, Long> tats, long now) {
    boolean passes =
        batch.stream().allMatch(c -> c.passes(now, tats.getOrDefault(c.key(), Gcra.NO_TAT)));
    List<Reading> readings = new ArrayList<>();
    for (Charge charge : batch) {
      long tat = tats.getOrDefault(charge.key(), Gcra.NO_TAT);
      readings.add(new Reading(now, tat));
      tats.put(charge.key(), charge.tatAfterNanos(now, tat, passes));
    }
    return readings;
  }

  private static void move(ManualTime time, long base, Random random) {
    long step = random.nextLong(Math.min(base, 1L << 50)) + random.nextInt(2);
    time.advanceNanos(random.nextInt(10) == 0 ? -step : step);
  }

  private static List<Charge> batch(long base, Random random, long now, Map<String, Long> tats) {
    List<String> keys = new ArrayList<>(KEYS);
    Collections.shuffle(keys, random);
    List<Charge> batch = new ArrayList<>();
    for (String key : keys.subList(0, 1 + random.nextInt(4))) {
      batch.add(charge(key, base, random, now, tats.getOrDefault(key, Gcra.NO_TAT)));
    }
    return batch;
  }

  private static Charge charge(String key, long base, Random random, long now, long tat) {
    Op act = random.nextInt(12) == 0 ? Op.RESET : ACTS.get(random.nextInt(ACTS.size()));
    if (act == Op.RESET) {
      return new Charge(key, act, 0, 0, Effect.NO_END);
    }
    long offset = 1 + random.nextLong(base) + (base < (1L << 60) ? base * random.nextInt(3) : 0);
    long increment =
        switch (random.nextInt(4)) {
          case 0 -> 0;
          case 1 -> offset;
          default -> random.nextLong(offset);
        };
    long until =
        act == Op.WITHDRAW && random.nextInt(4) > 0
            ? tat
            : act.hasEnd() && random.nextBoolean() ? now + random.nextLong(offset) : Effect.NO_END;
    return new Charge(key, act, increment, offset, until);
  }
}
