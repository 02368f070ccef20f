// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore.Charge;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;

/** Charges of one token of {@link Spending#LIMIT}. */
final class Charges {

  private static final long INTERVAL_NANOS = 3_600_000_000_000L;

  private Charges() {}

  static List<Charge> spend(String... keys) {
    return Stream.of(keys).map(key -> of(key, Op.SPEND)).toList();
  }

  /** Returns the keys in Redis of a store without a prefix. */
  static List<byte[]> keys(List<Charge> batch) {
    return batch.stream().map(charge -> charge.key().getBytes(StandardCharsets.UTF_8)).toList();
  }

  static List<Charge> refund(String key) {
    return List.of(of(key, Op.REFUND));
  }

  static List<Charge> reset(String key) {
    return List.of(new Charge(key, Op.RESET, 0, 0, Effect.NO_END));
  }

  /** Of a spend that left a TAT in the far past: no bucket has it. */
  static List<Charge> withdrawal(String key) {
    return List.of(new Charge(key, Op.WITHDRAW, INTERVAL_NANOS, INTERVAL_NANOS, 1));
  }

  static List<Charge> check(String key) {
    return List.of(of(key, Op.CHECK));
  }

  private static Charge of(String key, Op act) {
    return new Charge(key, act, INTERVAL_NANOS, Spending.BURST * INTERVAL_NANOS, Effect.NO_END);
  }
}
