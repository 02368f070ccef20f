// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore.Charge;
import java.util.List;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The table is linearizable while slots change hands: all keys live in one segment, of one full
 * line at first, so few calls make it look up, insert, reuse the slot of a dead bucket, move
 * buckets, grow, split, and shrink. On a clock that stands still a bucket dies by a reset. Keys
 * spend one or two nanoseconds: some TATs tell whose they are, and some meet by chance.
 */
@Tag("slow")
@Param(name = "key", gen = IntGen.class, conf = "0:5")
public class BucketTableLincheckTest {

  private static final long NOW = 1_000_000;
  private static final long OFFSET = 4;
  private static final int KEYS = 6;
  private static final int BEFORE = 4; // slots in a line
  private static final int MOST_LINES = 2; // a segment that needs a third is split

  private final BucketTable table = new BucketTable(() -> NOW, 1_000, 0, 1, 2, MOST_LINES);

  public BucketTableLincheckTest() {
    for (int key = 0; key < BEFORE; key++) {
      long unused = spend(key);
    }
  }

  private long charge(Op act, int key) {
    long offsetNanos = act == Op.RESET ? 0 : OFFSET;
    long incrementNanos = act == Op.RESET ? 0 : 1 + key % 2;
    return table.<Long>charge(
        tag(key),
        place(key),
        Effect.of(act, incrementNanos, offsetNanos),
        null,
        (id, effect, nowNanos, tatNanos) -> tatNanos);
  }

  private static long tag(int key) {
    return (key + 1) * 0x9e3779b97f4a7c15L;
  }

  private static long place(int key) {
    long halves = key % 2 == 0 ? 0 : 1L << 57; // of the first segment, if it is split
    return halves | (key * 0x6487L & 0xffff);
  }

  @Operation
  public long spend(@Param(name = "key") int key) {
    return charge(Op.SPEND, key);
  }

  @Operation
  public long check(@Param(name = "key") int key) {
    return charge(Op.CHECK, key);
  }

  @Operation
  public long reset(@Param(name = "key") int key) {
    return charge(Op.RESET, key);
  }

  /** All or nothing over two buckets, which may both be new. */
  @Operation
  public String spendTwo(@Param(name = "key") int key) {
    int other = (key + 1) % KEYS;
    Charge charge = new Charge("of a key", Op.SPEND, 2, OFFSET, Effect.NO_END);
    return new TableBatch(
            table,
            List.of(charge, charge),
            new long[] {tag(key), tag(other)},
            new long[] {place(key), place(other)})
        .charge()
        .toString();
  }

  /** As when lines are crowded. */
  @Operation
  public void rebuild() {
    Segment segment = table.lockedSegment(0);
    try {
      Segment.Growth unused = segment.grow(1, NOW);
    } finally {
      segment.unlock();
    }
  }

  /** As the cleaner does: dead buckets go, and so do lines that are not used. */
  @Operation
  public void tidy() {
    Segment segment = table.lockedSegment(0);
    try {
      segment.tidy(NOW);
    } finally {
      segment.unlock();
    }
  }

  @Test
  void everyInterleavingOfAFew_isLinearizable() {
    new ModelCheckingOptions()
        .threads(2)
        .actorsPerThread(2)
        .actorsBefore(0)
        .actorsAfter(3)
        .iterations(15)
        .invocationsPerIteration(100)
        .check(BucketTableLincheckTest.class);
  }

  @Test
  void underStress_isLinearizable() {
    new StressOptions()
        .threads(3)
        .actorsPerThread(4)
        .actorsBefore(2)
        .actorsAfter(4)
        .iterations(8)
        .invocationsPerIteration(400)
        .check(BucketTableLincheckTest.class);
  }
}
