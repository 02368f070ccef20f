// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.internal.direct.DirectStore.BucketPipeline;
import dev.sluice.internal.direct.DirectStore.Buckets;
import dev.sluice.internal.direct.IdBytes;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The bounds of a store in memory, and its shorter ways to the same buckets. */
class MemoryStoreTest {

  private static final long SECOND = 1_000_000_000;
  private static final long NOW = 1_700_000_000 * SECOND;
  private static final Effect SPEND = Effect.of(Op.SPEND, SECOND, 3 * SECOND);

  private long nowNanos = NOW;
  private int clockReadings;
  private final MemoryStore store =
      MemoryStore.builder()
          .time(
              () -> {
                clockReadings++;
                return nowNanos;
              })
          .build();

  private static IdBytes id(String text) {
    IdBytes id = new IdBytes();
    id.set(text);
    return id;
  }

  private static @Nullable Boolean fits(
      @Nullable String id, Effect effect, long atNanos, long tatNanos) {
    return effect.fits(atNanos, tatNanos);
  }

  private static Reading reading(@Nullable String id, Effect effect, long atNanos, long tatNanos) {
    return new Reading(atNanos, tatNanos);
  }

  private long tatNanos(String key) {
    return store
        .charge(List.of(new Charge(key, Op.CHECK, SECOND, 3 * SECOND, Effect.NO_END)))
        .get(0)
        .tatNanos();
  }

  @Test
  void maxBuckets_notSet_takesAQuarterOfTheHeap() {
    long quarter = Runtime.getRuntime().maxMemory() / 4;
    assertThat(store.maxLiveBuckets()).hasValue(Math.min(quarter / 24, 200_000_000));
  }

  @Test
  void maxBuckets_itsBounds_areAllowed() {
    MemoryStore.Builder builder = MemoryStore.builder();
    assertThat(builder.maxBuckets(1).build().maxLiveBuckets()).hasValue(1);
    assertThat(builder.maxBuckets(200_000_000).build().maxLiveBuckets()).hasValue(200_000_000);
    for (long bad : new long[] {0, 200_000_001}) {
      assertThatThrownBy(() -> builder.maxBuckets(bad))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("maxBuckets: found " + bad + ", expected 1 to 200000000");
    }
  }

  @Test
  void stepsBackUpTo_itsBounds_areAllowed() {
    MemoryStore.Builder builder = MemoryStore.builder().time(() -> nowNanos);
    MemoryStore any = builder.stepsBackUpTo(Duration.ZERO).build();
    assertThat(any.nowNanos()).hasValue(NOW);
    nowNanos = 0;
    assertThat(any.nowNanos()).as("a step is never refused").hasValue(0);
    nowNanos = NOW;
    MemoryStore longest = builder.stepsBackUpTo(Duration.ofNanos(Long.MAX_VALUE)).build();
    assertThat(longest.nowNanos()).hasValue(NOW);
    nowNanos = 0;
    assertThat(longest.nowNanos()).hasValue(0);
  }

  @Test
  void buckets_ofAPrefix_areThoseOfItsKeys() {
    Buckets buckets = store.buckets("7:");
    Reading found = buckets.charge(id("a"), "a", SPEND, MemoryStoreTest::reading);
    assertThat(found).isEqualTo(new Reading(NOW, 0));
    assertThat(tatNanos("7:a")).isEqualTo(NOW + SECOND);
    assertThat(tatNanos("8:a")).isZero();
    String text = buckets.charge(id("a"), "a", SPEND, (id, effect, now, tat) -> id + tat);
    assertThat(text).isEqualTo("a" + (NOW + SECOND));
  }

  @Test
  void pipeline_isDecidedOnInOrder() {
    int size = 64;
    BucketPipeline pipeline = store.buckets("7:").pipeline(size);
    for (int i = 0; i < size; i++) {
      pipeline.add(id("a" + i % 16)); // four times each, and three fit
    }
    for (int i = 0; i < size; i++) {
      boolean fits = pipeline.charge(i, SPEND, MemoryStoreTest::fits);
      assertThat(fits).as("%d", i).isEqualTo(i < 48);
    }
    assertThat(tatNanos("7:a15")).isEqualTo(NOW + 3 * SECOND);
  }

  @Test
  void pipeline_thatFits_readsTheClockOnceForThirtyTwo() {
    BucketPipeline pipeline = store.buckets("7:").pipeline(64);
    for (int i = 0; i < 64; i++) {
      pipeline.add(id("a"));
    }
    assertThat(spend("7:a")).isZero();
    clockReadings = 0;
    Effect little = Effect.of(Op.SPEND, 1, 3 * SECOND);
    for (int i = 0; i < 64; i++) {
      assertThat(pipeline.charge(i, little, MemoryStoreTest::fits)).isTrue();
      assertThat(clockReadings).isEqualTo(i / 32 + 1);
    }
    assertThat(tatNanos("7:a")).isEqualTo(NOW + SECOND + 64);
  }

  private long spend(String key) {
    return store.charge(List.of(new Charge(key, SPEND))).get(0).tatNanos();
  }

  @Test
  void pipeline_isDecidedOnByTheClockOfItsFirstDecision_andIsReusable() {
    assertThat(spend("7:a")).isZero();
    assertThat(spend("7:b")).isZero();
    BucketPipeline pipeline = store.buckets("7:").pipeline(2);
    for (int round = 1; round <= 2; round++) {
      pipeline.clear();
      pipeline.add(id("b"));
      pipeline.add(id("a"));
      long looked = nowNanos;
      List<Reading> found = new ArrayList<>();
      for (int index = 0; index < 2; index++) {
        found.add(pipeline.charge(index, SPEND, MemoryStoreTest::reading));
        nowNanos += 1;
      }
      assertThat(found).containsOnly(new Reading(looked, NOW + round * SECOND)).hasSize(2);
    }
    assertThat(tatNanos("7:a")).isEqualTo(NOW + 3 * SECOND);
    assertThat(tatNanos("7:b")).isEqualTo(NOW + 3 * SECOND);
  }

  @Test
  void pipeline_goesOnByALaterClock_andNeverByAnEarlierOne() {
    assertThat(spend("7:a")).isZero();
    BucketPipeline pipeline = store.buckets("7:").pipeline(2);
    pipeline.add(id("a"));
    pipeline.add(id("a"));
    assertThat(pipeline.charge(0, SPEND, MemoryStoreTest::reading).nowNanos()).isEqualTo(NOW);
    pipeline.notBefore(NOW - 1);
    pipeline.notBefore(NOW + 1);
    pipeline.notBefore(NOW);
    assertThat(pipeline.charge(1, SPEND, MemoryStoreTest::reading).nowNanos()).isEqualTo(NOW + 1);
  }

  /** A stale clock would grant what the closed store refuses. */
  @Test
  void pipeline_ofAClosedStore_refusesEachDecision() {
    assertThat(spend("7:a")).isZero();
    BucketPipeline pipeline = store.buckets("7:").pipeline(2);
    pipeline.add(id("a"));
    pipeline.add(id("a"));
    store.close();
    for (int i = 0; i < 2; i++) {
      int index = i;
      assertThatThrownBy(() -> pipeline.charge(index, SPEND, MemoryStoreTest::fits))
          .isInstanceOf(StoreException.class);
    }
  }
}
