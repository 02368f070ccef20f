// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Effect;
import dev.sluice.internal.direct.IdBytes;
import dev.sluice.internal.direct.SipHash;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongPredicate;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/**
 * Whoever may choose ids, and knows the code, still cannot crowd them: where a key goes depends on
 * a random number of the process. What is written down here for one table, keys that all go to one
 * segment, or to one line, is spread over another one as by chance.
 */
class HostileKeysTest {

  private static final int CHOSEN = 20_000;
  private static final long NOW = 1_000_000;

  private final BucketTable theirs = new BucketTable(() -> 0, 1);
  private final BucketTable ours = new BucketTable(() -> 0, 1);

  private static long place(BucketTable table, long id) {
    IdBytes key = new IdBytes();
    boolean unused = key.set("1:" + id);
    SipHash hash = key.hashKey(table.keyedHash());
    return hash.second();
  }

  private static long[] chosen(LongPredicate wanted) {
    return LongStream.iterate(0, id -> id + 1).filter(wanted).limit(CHOSEN).toArray();
  }

  /** How many keys each of 1024 entries gets, by the keys' places. */
  private static int[] perSegment(List<Long> places) {
    int[] counts = new int[Directory.ENTRIES];
    places.forEach(place -> counts[Directory.entryOf(place)]++);
    return counts;
  }

  private List<Long> places(BucketTable table, long[] ids) {
    List<Long> places = new ArrayList<>();
    for (long id : ids) {
      places.add(place(table, id));
    }
    return places;
  }

  /** Pearson's chi-square over the counts: for chance, its mean is their number less one. */
  private static double chiSquare(int[] counts, int keys) {
    double expected = (double) keys / counts.length;
    double sum = 0;
    for (int count : counts) {
      sum += (count - expected) * (count - expected) / expected;
    }
    return sum;
  }

  /** Ten standard deviations: chance alone does not get there, a flood is far beyond. */
  private static void assertByChance(int[] counts, int keys) {
    double freedom = counts.length - 1;
    assertThat(chiSquare(counts, keys)).isLessThan(freedom + 10 * Math.sqrt(2 * freedom));
  }

  @Test
  void keys_thatFloodSegmentsOfOneTable_areSpreadOverAnother() {
    long[] ids = chosen(id -> Directory.entryOf(place(theirs, id)) < 16);
    assertThat(perSegment(places(theirs, ids))).endsWith(new int[Directory.ENTRIES - 16]);
    assertByChance(perSegment(places(ours, ids)), CHOSEN);
  }

  @Test
  void keys_thatFloodLinesOfOneTable_areSpreadOverAnother() {
    long[] ids = chosen(id -> (place(theirs, id) & 0xffff) < 1 << 10);
    int[] lines = new int[64];
    places(ours, ids).forEach(place -> lines[(int) (place & 0xffff) >> 10]++);
    assertByChance(lines, CHOSEN);
  }

  /** The worst that can be done to a store, and what the same keys do to any other one. */
  @Test
  void aFlood_isDecidedExactly_andTakesNoMoreRoom() {
    long[] ids = chosen(id -> Directory.entryOf(place(theirs, id)) < 16);
    BucketTable known = new BucketTable(() -> NOW, 1_000_000, 0, theirs.key0(), theirs.key1());
    BucketTable other = new BucketTable(() -> NOW, 1_000_000);
    for (BucketTable table : List.of(known, other)) {
      for (long id : ids) {
        assertThat(spend(table, id)).as("a new bucket").isZero();
      }
      for (long id : ids) {
        assertThat(spend(table, id)).as("its own, and no other's").isEqualTo(NOW + 1 + id);
      }
      assertThat(table.tagged()).isEqualTo(CHOSEN);
      assertThat(table.slots()).isLessThan(2L * CHOSEN);
    }
  }

  /** Spends all of a bucket that tells by its TAT whose it is; returns the TAT before. */
  private static long spend(BucketTable table, long id) {
    IdBytes key = new IdBytes();
    boolean unused = key.set("1:" + id);
    SipHash hash = key.hashKey(table.keyedHash());
    return table.<Long>charge(
        hash.first(),
        hash.second(),
        Effect.of(Effect.Op.SPEND, 1 + id, 1 + id),
        null,
        (text, effect, nowNanos, tatNanos) -> tatNanos);
  }

  @Test
  void keys_inSequence_areSpread() {
    long[] ids = LongStream.range(0, CHOSEN).toArray();
    assertByChance(perSegment(places(ours, ids)), CHOSEN);
  }
}
