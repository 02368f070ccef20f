// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The table where it is most itself: many buckets that come, go, and come back. */
class BucketTableTest {

  private static final long SECOND = 1_000_000_000;
  private static final int BURST = 3;
  private static final List<Op> ACTS = List.of(Op.values());

  private final AtomicLong nowNanos = new AtomicLong(1_700_000_000 * SECOND);

  private MemoryStore store(long bound) {
    return MemoryStore.builder().time(nowNanos::get).maxBuckets(bound).build();
  }

  /** A limit of {@link #BURST} tokens that come back one a second. */
  private static Charge charge(Op act, long id) {
    return act == Op.SPEND_UP_TO
        ? new Charge("1:" + id, act, 2 * SECOND, BURST * SECOND, SECOND)
        : new Charge("1:" + id, act, SECOND, BURST * SECOND, Effect.NO_END);
  }

  private static boolean spend(BucketStore store, long id) {
    Charge charge = charge(Op.SPEND, id);
    Reading reading = store.charge(List.of(charge)).get(0);
    return charge.passes(reading.nowNanos(), reading.tatNanos());
  }

  private static void onThreads(int threads, LongConsumer work) throws Exception {
    ExecutorService executor = Executors.newFixedThreadPool(threads);
    try {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        long thread = i;
        all.add(executor.submit(() -> work.accept(thread)));
      }
      for (Future<?> one : all) {
        one.get(2, TimeUnit.MINUTES);
      }
    } finally {
      executor.shutdownNow();
    }
  }

  @Tag("slow")
  @ParameterizedTest
  @ValueSource(ints = {2, 16})
  void million_keysThatDieAndComeBack_giveOutExactlyTheirBurst(int threads) throws Exception {
    int keys = 1_000_000;
    MemoryStore store = store(2_000_000);
    for (int life = 0; life < 2; life++) {
      AtomicLong allowed = new AtomicLong();
      // Each key is asked for burst + 1 times, by different threads and in different orders.
      onThreads(
          threads,
          thread -> {
            long mine = 0;
            for (long n = thread; n < (BURST + 1L) * keys; n += threads) {
              long id = (n % keys) * 7919 % keys; // a permutation
              mine += spend(store, id) ? 1 : 0;
            }
            allowed.addAndGet(mine);
          });
      assertThat(allowed.get()).isEqualTo((long) BURST * keys);
      nowNanos.addAndGet(BURST * SECOND); // every bucket is full again
    }
  }

  @Tag("slow")
  @Test
  void growing_underLoad_losesAndDoublesNothing() throws Exception {
    MemoryStore store = store(10_000_000);
    AtomicLong allowed = new AtomicLong();
    int keys = 300_000;
    onThreads(
        4,
        thread -> {
          Random random = new Random(thread);
          long mine = 0;
          for (long id = 0; id < keys; id++) { // all insert the same keys at about the same time
            mine += spend(store, id) ? 1 : 0;
            mine += spend(store, random.nextLong(id + 1)) ? 1 : 0;
          }
          for (long id = 0; id < keys; id++) {
            while (spend(store, id)) {
              mine++;
            }
          }
          allowed.addAndGet(mine);
        });
    assertThat(allowed.get()).isEqualTo((long) BURST * keys);
    assertThat(store.liveBuckets()).hasValue(keys);
  }

  @Test
  void random_actsAndTimes_answerAsAMapWould() {
    for (long seed = 0; seed < 30; seed++) {
      Random random = new Random(seed);
      MemoryStore store = store(10_000_000);
      Map<String, Long> map = new HashMap<>();
      int keys = 1 + random.nextInt(20_000);
      for (int i = 0; i < 20_000; i++) {
        if (random.nextInt(1_000) == 0) {
          nowNanos.addAndGet(random.nextLong(2 * SECOND));
        }
        List<Charge> batch = new ArrayList<>();
        int first = random.nextInt(keys);
        int size = random.nextInt(4) == 0 ? 1 + random.nextInt(5) : 1;
        for (int b = 0; b < Math.min(size, keys); b++) {
          Op act = ACTS.get(random.nextInt(ACTS.size()));
          batch.add(charge(act, (first + b * 31L) % keys));
        }
        if (batch.stream().map(Charge::key).distinct().count() < batch.size()) {
          continue;
        }
        assertThat(store.charge(batch)).as("seed %d", seed).isEqualTo(onMap(map, batch));
      }
    }
  }

  private List<Reading> onMap(Map<String, Long> map, List<Charge> batch) {
    long now = nowNanos.get();
    List<Reading> readings = new ArrayList<>();
    boolean passes = true;
    for (Charge charge : batch) {
      long tat = map.getOrDefault(charge.key(), 0L);
      readings.add(new Reading(now, tat > now ? tat : 0));
      passes &= charge.passes(now, tat > now ? tat : 0);
    }
    for (int i = 0; i < batch.size(); i++) {
      long after = batch.get(i).tatAfterNanos(now, readings.get(i).tatNanos(), passes);
      map.put(batch.get(i).key(), after);
    }
    return readings;
  }

  @Test
  void batches_ofManyNewBuckets_findRoomForAll() {
    for (int size : new int[] {10, 1_000, 20_000}) {
      MemoryStore store = store(100_000);
      List<Charge> batch = new ArrayList<>();
      for (int id = 0; id < size; id++) {
        batch.add(charge(Op.SPEND, id));
      }
      assertThat(store.charge(batch)).hasSize(size);
      assertThat(store.liveBuckets()).hasValue(size);
      nowNanos.addAndGet(SECOND); // all of them are dead, and tagged
      for (int id = 0; id < size; id++) {
        batch.set(id, charge(Op.SPEND, size + id));
      }
      assertThat(store.charge(batch)).hasSize(size);
      assertThat(store.charge(List.of(charge(Op.CHECK, size))).get(0).tatNanos()).isPositive();
    }
  }

  @Test
  void at_theBound_newBucketsAreRefusedAndLiveOnesKept() {
    MemoryStore store = store(1_000);
    for (long id = 0; id < 1_000; id++) {
      assertThat(spend(store, id)).isTrue();
    }
    for (long id = 1_000; id < 1_100; id++) {
      long refused = id;
      assertThatThrownBy(() -> spend(store, refused))
          .isInstanceOfSatisfying(
              StoreException.class, failure -> assertThat(failure.chargedNothing()).isTrue())
          .hasMessageContaining("memory store full: 1000 live buckets")
          .hasMessageEndingWith("; nothing was charged");
    }
    assertThatThrownBy(() -> store.charge(List.of(charge(Op.SPEND, 1), charge(Op.SPEND, 5_000))))
        .isInstanceOf(StoreException.class);
    // Nothing of the refused batch was charged, and a check makes no bucket.
    Reading unchanged = store.charge(List.of(charge(Op.CHECK, 1), charge(Op.CHECK, 9))).get(0);
    assertThat(unchanged.tatNanos() - unchanged.nowNanos()).isEqualTo(SECOND);
    assertThat(store.charge(List.of(charge(Op.CHECK, 5_000))).get(0).tatNanos()).isZero();

    // One is given back: there is room for exactly one.
    assertThat(store.charge(List.of(charge(Op.RESET, 17)))).hasSize(1);
    assertThat(spend(store, 2_000)).isTrue();
    assertThatThrownBy(() -> spend(store, 2_001)).isInstanceOf(StoreException.class);

    nowNanos.addAndGet(SECOND);
    for (long id = 3_000; id < 4_000; id++) {
      assertThat(spend(store, id)).isTrue();
    }
  }

  @Test
  void at_theBound_aRefusedBatchOfNewBuckets_leavesItsRoomToOthers() {
    MemoryStore store = store(10);
    for (long id = 0; id < 5; id++) {
      assertThat(spend(store, id)).isTrue();
    }
    List<Charge> six = new ArrayList<>();
    for (long id = 100; id < 106; id++) {
      six.add(charge(Op.SPEND, id));
    }
    assertThatThrownBy(() -> store.charge(six)).isInstanceOf(StoreException.class);
    for (long id = 200; id < 205; id++) {
      assertThat(spend(store, id)).isTrue();
    }
    assertThatThrownBy(() -> spend(store, 205)).isInstanceOf(StoreException.class);
  }

  @Test
  void at_theBound_bucketsOfABatch_makeRoomWhenTheyAreFull() {
    MemoryStore store = store(10);
    List<Charge> ten = new ArrayList<>();
    for (long id = 0; id < 10; id++) {
      ten.add(charge(Op.SPEND, id));
    }
    assertThat(store.charge(ten)).hasSize(10);
    assertThatThrownBy(() -> spend(store, 10)).isInstanceOf(StoreException.class);
    nowNanos.addAndGet(SECOND);
    assertThat(spend(store, 10)).isTrue();
  }

  @Test
  void at_theBound_aBucketThatABatchRefunds_makesRoomTheEarlier() {
    MemoryStore store = store(2);
    for (int token = 0; token < BURST; token++) {
      assertThat(spend(store, 1)).isTrue();
      assertThat(spend(store, 2)).isTrue();
    }
    nowNanos.addAndGet(SECOND + SECOND / 2); // a look finds that both are full in a second and half
    assertThatThrownBy(() -> spend(store, 3)).isInstanceOf(StoreException.class);
    assertThat(store.charge(List.of(charge(Op.REFUND, 1), charge(Op.CHECK, 2)))).hasSize(2);
    nowNanos.addAndGet(SECOND / 2);
    assertThat(spend(store, 3)).isTrue();
    assertThatThrownBy(() -> spend(store, 4)).isInstanceOf(StoreException.class);
  }

  @Test
  void at_theBound_withThreads_neverMoreLiveBucketsThanIt() throws Exception {
    int bound = 5_000;
    MemoryStore store = store(bound);
    AtomicLong made = new AtomicLong();
    onThreads(
        8,
        thread -> {
          for (long id = thread; id < 4L * bound; id += 8) {
            try {
              made.addAndGet(spend(store, id) ? 1 : 0);
            } catch (StoreException full) {
              // counted below by what is missing
            }
          }
        });
    assertThat(made.get()).isEqualTo(bound);
    assertThat(store.liveBuckets()).hasValue(bound);
  }

  /** Several threads look for room at once: none is told that there is none while another looks. */
  @Test
  void at_theBound_bucketsThatDieMakeRoomForAsManyNewOnes() throws Exception {
    int bound = 4_000;
    MemoryStore store = store(bound);
    for (int life = 0; life < 10; life++) {
      long first = (long) life * bound;
      onThreads(
          8,
          thread -> {
            for (long id = thread; id < bound; id += 8) {
              assertThat(spend(store, first + id)).isTrue();
            }
          });
      assertThatThrownBy(() -> spend(store, -1)).isInstanceOf(StoreException.class);
      nowNanos.addAndGet(SECOND);
    }
  }

  @Test
  void idle_tableShrinks() {
    MemoryStore store = store(10_000_000);
    for (long id = 0; id < 200_000; id++) {
      assertThat(spend(store, id)).isTrue();
    }
    assertThat(store.liveBuckets()).hasValue(200_000);
    long slots = store.slots();
    for (int i = 0; i < 2 * Directory.ENTRIES; i++) { // one segment is tidied with each
      nowNanos.addAndGet(2 * SECOND);
      assertThat(spend(store, 1)).isTrue();
    }
    assertThat(store.liveBuckets().orElseThrow()).isLessThanOrEqualTo(2);
    assertThat(store.slots()).isLessThan(slots / 20);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 10, 1_000, 100_000, 1_000_000})
  void slots_areFewEnoughForTheMemoryGoal(int keys) {
    MemoryStore store = store(10_000_000);
    for (long id = 0; id < keys; id++) {
      assertThat(spend(store, id)).isTrue();
    }
    double bytes = 19.0 * store.slots();
    assertThat(bytes).isLessThan(24.0 * keys + 19 * 8.0 * 64);
  }

  /** Segments of one line each, until there are as many as entries. */
  @Test
  void segments_thatAreSplit_keepEveryBucket() throws Exception {
    BucketTable table = new BucketTable(nowNanos::get, 1_000_000, 0, 3, 5, 1);
    MemoryStore store = new MemoryStore(table);
    long keys = 20_000;
    for (int token = 0; token < BURST; token++) {
      onThreads(
          4,
          thread -> {
            for (long id = thread; id < keys; id += 4) {
              assertThat(spend(store, id)).isTrue();
            }
          });
    }
    assertThat(table.segmentAt(Directory.ENTRIES - 1).firstEntry()).isEqualTo(1023);
    assertThat(store.liveBuckets()).hasValue(keys);
    assertThat(table.live().stream().mapToInt(part -> part.length / 3).sum()).isEqualTo(keys);
    for (long id = 0; id < keys; id++) {
      assertThat(spend(store, id)).as("three tokens are spent").isFalse();
    }
  }

  /** A death that was told to a segment before it was split makes room after it. */
  @Test
  void bound_isReachedAfterASplit_deadBucketsMakeRoom() {
    MemoryStore store = new MemoryStore(new BucketTable(nowNanos::get, 2_000, 0, 3, 5, 1));
    for (long id = 0; id < 2_000; id++) {
      assertThat(spend(store, id)).isTrue();
    }
    assertThatThrownBy(() -> spend(store, 2_000)).isInstanceOf(StoreException.class);
    nowNanos.addAndGet(2 * SECOND);
    for (long id = 2_000; id < 4_000; id++) {
      assertThat(spend(store, id)).isTrue();
    }
  }

  /** How often a debt may be forgiven is the limiter's; see LimiterDebtTest. */
  @Test
  void clock_thatStepsBack_leavesADebt_thatCanBeForgiven() {
    MemoryStore store = store(1_000);
    assertThat(spend(store, 1)).isTrue();
    nowNanos.addAndGet(-3_600 * SECOND);
    assertThat(spend(store, 1)).isFalse();
    nowNanos.addAndGet(SECOND);
    assertThat(spend(store, 1)).as("the debt stands").isFalse();
    Charge forgiving = charge(Op.FORGIVE, 1);
    Reading found = store.charge(List.of(forgiving)).get(0);
    assertThat(forgiving.passes(found.nowNanos(), found.tatNanos())).isFalse();
    nowNanos.addAndGet(SECOND);
    assertThat(spend(store, 1)).as("as if emptied when it was forgiven").isTrue();
  }

  /** The race: a cancelled reservation is decided on by a clock that was read before a spend. */
  @Test
  void refundWithAnEnd_besideASpend_goesByTheLaterClock() {
    AtomicReference<Runnable> between = new AtomicReference<>();
    TimeSource time =
        () -> {
          long readNanos = nowNanos.get();
          Runnable others = between.getAndSet(null);
          if (others != null) {
            others.run();
          }
          return readNanos;
        };
    MemoryStore store = MemoryStore.builder().time(time).build();
    assertThat(spend(store, 1)).isTrue();
    long untilNanos = nowNanos.get() + SECOND;
    between.set(
        () -> {
          nowNanos.addAndGet(SECOND); // what is to be given back has come back by itself
          assertThat(spend(store, 1)).isTrue();
        });
    Reading unused =
        store
            .charge(List.of(new Charge("1:1", Op.REFUND, SECOND, BURST * SECOND, untilNanos)))
            .get(0);
    int granted = 1;
    while (spend(store, 1)) {
      granted++;
    }
    assertThat(granted).isEqualTo(BURST);
  }

  /** The race: one caller's look frees what another one is refused for. */
  @Test
  void makeRoom_whereAnotherCallerJustDid_findsIt() {
    int bound = 2;
    BucketTable table = new BucketTable(nowNanos::get, bound);
    for (long tag = 1; tag <= bound; tag++) {
      boolean unused =
          table.<Boolean>charge(
              tag, 0, Effect.of(Op.SPEND, SECOND, BURST * SECOND), null, (id, e, n, t) -> true);
    }
    assertThatThrownBy(() -> table.cleaner().makeRoom(1, nowNanos.get()))
        .isInstanceOf(StoreException.class);
    nowNanos.addAndGet(SECOND);
    for (int caller = 0; caller < 2; caller++) {
      table.cleaner().makeRoom(bound, nowNanos.get());
    }
    assertThat(table.tagged()).isZero();
  }
}
