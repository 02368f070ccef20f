// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.remote.ClientClock;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.testkit.ManualTime;
import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.codec.ByteArrayCodec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The script and {@link Charge}, which is the law, on the same random histories. */
@Tag("slow")
final class ScriptAgainstLawTest {

  private static final List<String> KEYS = List.of("1:a", "1:b", "2:a", "2:b", "3:c");
  private static final int BATCHES = 2_500;
  private static final int CALLS = 250;
  private static final int MOST_BATCHES = 30;

  /** By what the times of a limit are measured; around 2^52 the script changes its arithmetic. */
  private static final List<Long> BASES =
      List.of(7L, 50_000_000L, 86_400_000_000_000L, 1L << 51, 1L << 53, 1L << 59);

  private static final List<Op> ACTS =
      List.of(Op.CHECK, Op.SPEND, Op.SPEND_ONLY, Op.REFUND, Op.WITHDRAW, Op.SPEND_UP_TO);

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

  /**
   * Calls that many callers share: batches in all forms, the same bucket in several of them, under
   * limits on both sides of what a double holds. From the year 1970 to 2095: of few digits and of
   * many.
   */
  @ParameterizedTest
  @ValueSource(longs = {0, 5_000_000_000L, 999_999_999_000_000_000L, 3_942_000_000_000_000_000L})
  void anyCallOfManyBatches_isDecidedAsTheLawSays_oneAfterTheOther(long startNanos) {
    Random random = new Random(startNanos);
    ManualTime time = new ManualTime(startNanos);
    ClientClock clock = new ClientClock(time, Duration.ZERO);
    Map<String, Long> tats = new HashMap<>();
    RedisClient client = RedisClient.create(TestServers.single().toString());
    try (var connection = client.connect(ByteArrayCodec.INSTANCE)) {
      for (int call = 0; call < CALLS; call++) {
        time.advanceNanos(random.nextLong(BASES.get(random.nextInt(BASES.size() - 2))));
        List<List<Charge>> batches = batches(random, time.nanos(), tats);
        List<Object> answer =
            connection
                .sync()
                .eval(
                    ChargeScript.SOURCE.getBytes(StandardCharsets.UTF_8),
                    ScriptOutputType.MULTI,
                    keys("law" + startNanos + "-", batches),
                    ChargeScript.argument(clock, batches));
        int first = 0;
        for (List<Charge> batch : batches) {
          assertThat(ChargeScript.readings(answer, first, Charges.keys(batch), "the server"))
              .as("start %d, call %d, charge %d of %s", startNanos, call, first, batches)
              .isEqualTo(decide(batch, tats, time.nanos()));
          first += batch.size();
        }
      }
    } finally {
      client.shutdown();
    }
  }

  private static List<List<Charge>> batches(Random random, long now, Map<String, Long> tats) {
    List<List<Charge>> batches = new ArrayList<>();
    for (int i = random.nextInt(MOST_BATCHES); i >= 0; i--) {
      long base = BASES.get(random.nextInt(BASES.size()));
      if (random.nextInt(3) > 0) { // the common case, often many in a row
        long offset = 1 + random.nextLong(base);
        long increment = random.nextLong(offset + 1);
        String key = KEYS.get(random.nextInt(KEYS.size()));
        batches.add(List.of(new Charge(key, Op.SPEND, increment, offset, Effect.NO_END)));
      } else {
        batches.add(batch(base, random, now, tats));
      }
    }
    return batches;
  }

  private static byte[][] keys(String prefix, List<List<Charge>> batches) {
    return batches.stream()
        .flatMap(List::stream)
        .map(charge -> (prefix + charge.key()).getBytes(StandardCharsets.UTF_8))
        .toArray(byte[][]::new);
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
    if (act == Op.SPEND_UP_TO) {
      long token = 1 + random.nextLong(random.nextBoolean() ? offset : Math.min(offset, 1_000));
      return new Charge(key, act, Math.max(increment, token), offset, token);
    }
    long until =
        act == Op.WITHDRAW && random.nextInt(4) > 0
            ? tat
            : act.hasEnd() && random.nextBoolean() ? now + random.nextLong(offset) : Effect.NO_END;
    return new Charge(key, act, increment, offset, until);
  }
}
