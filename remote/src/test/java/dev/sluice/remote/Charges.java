// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore.Charge;
import java.util.List;
import java.util.stream.Stream;

/** Charges of one token of a limit of a hundred. */
final class Charges {

  private static final long INTERVAL_NANOS = 3_600_000_000_000L;
  private static final int BURST = 100;

  private Charges() {}

  static List<Charge> spend(String... keys) {
    return Stream.of(keys).map(key -> of(key, Op.SPEND)).toList();
  }

  static List<Charge> refund(String key) {
    return List.of(of(key, Op.REFUND));
  }

  static List<Charge> check(String key) {
    return List.of(of(key, Op.CHECK));
  }

  private static Charge of(String key, Op op) {
    return new Charge(key, op, INTERVAL_NANOS, BURST * INTERVAL_NANOS, Effect.NO_END);
  }
}
