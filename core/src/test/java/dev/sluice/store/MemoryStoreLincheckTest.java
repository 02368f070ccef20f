// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt.forClasses;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.internal.direct.SipHash;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.util.List;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The store in memory is linearizable: whatever threads do to a few buckets at once, alone, in
 * batches that overlap, with refunds and resets, some order of the same calls one by one gives the
 * same readings. On a clock that stands still, so that an order is all that can differ.
 */
@Tag("slow")
@Param(name = "key", gen = IntGen.class, conf = "0:2")
@Param(name = "cost", gen = IntGen.class, conf = "1:3")
public class MemoryStoreLincheckTest {

  private static final long NOW = 1_000_000;
  private static final long OFFSET = 4;

  private final BucketStore store = BucketStore.inMemory(() -> NOW);

  private static Charge charge(Op act, int key, long incrementNanos) {
    long offsetNanos = act == Op.RESET ? 0 : OFFSET;
    return new Charge("1:" + key, act, incrementNanos, offsetNanos, Effect.NO_END);
  }

  private List<Long> tatsBefore(Charge... charges) {
    return store.charge(List.of(charges)).stream().map(Reading::tatNanos).toList();
  }

  @Operation
  public List<Long> spend(@Param(name = "key") int key, @Param(name = "cost") int cost) {
    return tatsBefore(charge(Op.SPEND, key, cost));
  }

  @Operation
  public List<Long> spendUpTo(@Param(name = "key") int key, @Param(name = "cost") int cost) {
    return tatsBefore(new Charge("1:" + key, Op.SPEND_UP_TO, cost, OFFSET, 1));
  }

  @Operation
  public List<Long> check(@Param(name = "key") int key) {
    return tatsBefore(charge(Op.CHECK, key, 1));
  }

  @Operation
  public List<Long> refund(@Param(name = "key") int key, @Param(name = "cost") int cost) {
    return tatsBefore(charge(Op.REFUND, key, cost));
  }

  @Operation
  public List<Long> reset(@Param(name = "key") int key) {
    return tatsBefore(charge(Op.RESET, key, 0));
  }

  /** Two of three keys: any two such batches overlap. */
  @Operation
  public List<Long> spendBoth(@Param(name = "key") int key, @Param(name = "cost") int cost) {
    return tatsBefore(charge(Op.SPEND, key, cost), charge(Op.SPEND, (key + 1) % 3, cost));
  }

  @Operation
  public List<Long> spendIfOtherFits(@Param(name = "key") int key, @Param(name = "cost") int cost) {
    return tatsBefore(
        charge(Op.SPEND_ONLY, key, 1),
        charge(Op.CHECK, (key + 1) % 3, cost),
        charge(Op.REFUND, (key + 2) % 3, cost));
  }

  @Test
  void everyInterleavingOfAFew_isLinearizable() {
    new ModelCheckingOptions()
        .threads(2)
        .actorsPerThread(2)
        .actorsBefore(1)
        .actorsAfter(1)
        .iterations(4)
        .invocationsPerIteration(40)
        // What a thread does alone need not be interleaved, nor can Lincheck see into it.
        .addGuarantee(forClasses(SipHash.class.getName()).allMethods().ignore())
        .check(MemoryStoreLincheckTest.class);
  }

  @Test
  void underStress_isLinearizable() {
    new StressOptions()
        .threads(3)
        .actorsPerThread(3)
        .actorsBefore(1)
        .actorsAfter(1)
        .iterations(5)
        .invocationsPerIteration(200)
        .check(MemoryStoreLincheckTest.class);
  }
}
