// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.gcra.Gcra;
import dev.sluice.store.BucketStore.Charge;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** JUnit tests that compare the SQL code for decisions on buckets with the Java code. */
public abstract class SqlLawContract {

  private static final int CALLS = 3_000;
  private static final List<String> KEYS = List.of("1:a", "1:\u00fc", "2:\ud83d\ude00", "2:\uff5e");
  private static final Op[] OPS = Op.values();

  /** Creates the contract, for subclasses that test a database. */
  protected SqlLawContract() {}

  /**
   * Decides on the batches of several callers with one call of the database.
   *
   * @param now the current time for the decisions, in nanoseconds since the Unix epoch
   * @param batches the batches of the callers
   * @return {@code now}, followed by the TAT of each charge's bucket before the charge
   * @throws SQLException if the call fails
   */
  protected abstract List<Long> decide(long now, List<List<Charge>> batches) throws SQLException;

  /**
   * Reads the stored TAT of a bucket.
   *
   * @param key the key of the bucket
   * @return the TAT of the bucket; {@link Gcra#NO_TAT} if the bucket has no row
   * @throws SQLException if the call fails
   */
  protected abstract long stored(String key) throws SQLException;

  /**
   * Makes random calls with several batches. The times, increments and TATs include the smallest
   * and the largest allowed values.
   */
  @ParameterizedTest
  @ValueSource(longs = {1, 1_000, 50_000_000, 86_400_000_000_000L, 1L << 61, Long.MAX_VALUE})
  final void decide_anyCall_isAnsweredAsTheLawSays(long base) throws SQLException {
    SplittableRandom random = new SplittableRandom(base);
    Map<String, Long> model = new HashMap<>();
    long now = TimeUnit.DAYS.toNanos(365L * 56);
    for (int call = 0; call < CALLS; call++) {
      long step = random.nextLong(Math.min(base, 1L << 50) + 1);
      now += random.nextInt(10) == 0 ? -step : step;
      List<List<Charge>> batches = batches(random, base, now, model);
      String when = "base %s, call %s, now %s: %s".formatted(base, call, now, batches);
      assertThat(decide(now, batches)).as(when).isEqualTo(expected(now, batches, model));
      for (String key : KEYS) {
        long tat = model.getOrDefault(key, Gcra.NO_TAT);
        assertThat(stored(key)).as("%s, %s", key, when).isEqualTo(tat);
      }
    }
  }

  private static List<List<Charge>> batches(
      SplittableRandom random, long base, long now, Map<String, Long> model) {
    List<List<Charge>> batches = new ArrayList<>();
    for (int i = 0; i <= random.nextInt(3); i++) {
      List<Charge> batch = new ArrayList<>();
      int first = random.nextInt(KEYS.size());
      int size = 1 + random.nextInt(3);
      for (int j = 0; j < size; j++) {
        String key = KEYS.get((first + j) % KEYS.size());
        Op op = OPS[random.nextInt(OPS.length)];
        while ((op == Op.FORGIVE || op == Op.SPEND_UP_TO) && size > 1) {
          op = OPS[random.nextInt(OPS.length)];
        }
        batch.add(charge(random, key, op, base, now, model.getOrDefault(key, Gcra.NO_TAT)));
      }
      batches.add(batch);
    }
    return batches;
  }

  private static Charge charge(
      SplittableRandom random, String key, Op op, long base, long now, long tat) {
    if (op == Op.RESET) {
      return new Charge(key, Effect.RESET);
    }
    long offset = random.nextInt(4) == 0 ? base : 1 + random.nextLong(base);
    if (op == Op.SPEND_UP_TO) {
      long interval = 1 + random.nextLong(offset);
      return new Charge(
          key, op, interval + random.nextLong(offset - interval + 1), offset, interval);
    }
    long increment =
        switch (random.nextInt(8)) {
          case 0, 1 -> 0;
          case 2 ->
              base > 1L << 61
                  ? offset
                  : offset + 1 + random.nextLong(base); // an increment larger than the burst
          default -> 1 + random.nextLong(offset);
        };
    if (op == Op.WITHDRAW && random.nextBoolean()) {
      return new Charge(key, op, increment, offset, tat);
    }
    boolean ends = op.hasEnd() && random.nextBoolean();
    return new Charge(
        key, op, increment, offset, ends ? now + random.nextLong(offset) : Effect.NO_END);
  }

  private static List<Long> expected(
      long now, List<List<Charge>> batches, Map<String, Long> model) {
    List<Long> found = new ArrayList<>();
    found.add(now);
    for (List<Charge> batch : batches) {
      boolean passes = true;
      for (Charge charge : batch) {
        long tat = model.getOrDefault(charge.key(), Gcra.NO_TAT);
        found.add(tat);
        passes &= charge.passes(now, tat);
      }
      for (Charge charge : batch) {
        long tat = model.getOrDefault(charge.key(), Gcra.NO_TAT);
        model.put(charge.key(), charge.tatAfterNanos(now, tat, passes));
      }
    }
    return found;
  }
}
