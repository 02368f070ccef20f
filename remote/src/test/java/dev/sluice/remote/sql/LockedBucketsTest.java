// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote.sql;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.gcra.Effect;
import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore.Charge;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Which batches are rejected, and for how long; a store's tests show that others are served. */
final class LockedBucketsTest {

  private static final long TIMEOUT = 300;
  private static final long THIRD = TIMEOUT / 3;

  private long now = Long.MAX_VALUE - THIRD; // overflows during each test
  private final LockedBuckets locked = new LockedBuckets(TIMEOUT, () -> now);

  @Test
  void batchWithAllBucketsOfAFailedOne_isRejected() {
    fails("all", "one");
    assertThat(isRejected("one", "more", "all")).isTrue();
    assertThat(isRejected("all", "two")).isFalse();
    assertThat(isRejected("all")).isFalse();
  }

  @Test
  void bucketThatFailedBatchesHaveInCommon_isNotRejectedForOthers() {
    fails("all", "one");
    fails("all", "two");
    assertThat(isRejected("all", "three")).isFalse();
    succeeds("all", "three");
    assertThat(isRejected("all", "one")).isTrue();
    assertThat(isRejected("two")).isTrue();
    now += THIRD;
    List<Charge> trier = batch("all", "one");
    assertThat(isRejected(trier)).isFalse();
    locked.failed(keys(trier), List.of(trier), new SQLException("locked"));
    assertThat(isRejected("all", "three")).isFalse();
  }

  @Test
  void bucketOfACallThatSucceeds_isNoSuspect() {
    fails("all", "one");
    succeeds("all", "two");
    assertThat(isRejected("one")).isTrue();
    fails("all", "two");
    assertThat(isRejected("all", "three")).isFalse();
    succeeds("all", "one");
    assertThat(isRejected("two")).isTrue();
    succeeds("two");
    assertThat(isRejected("all", "one", "two")).isFalse();
  }

  @Test
  void lockedBucket_isTriedByOneBatchAtATime() {
    fails("a");
    now += THIRD;
    List<Charge> trier = batch("a", "b");
    assertThat(isRejected(trier)).isFalse();
    assertThat(isRejected(trier)).as("its next call").isFalse();
    assertThat(isRejected("a")).isTrue();
    now += TIMEOUT;
    assertThat(isRejected("a")).isFalse();
    assertThat(isRejected(trier)).isTrue();
  }

  @Test
  void batchThatTriesAndFails_endsItsTry() {
    fails("a");
    fails("b");
    now += THIRD;
    List<Charge> trier = batch("a", "b");
    assertThat(isRejected(trier)).isFalse();
    now += THIRD;
    locked.failed(keys(trier), List.of(trier), new SQLException("locked"));
    assertThat(isRejected("a", "b", "c")).as("locked for another third").isTrue();
    for (String bucket : List.of("a", "b")) {
      assertThat(isRejected(bucket)).isFalse();
      assertThat(isRejected(bucket)).as("tried again").isTrue();
    }
  }

  @Test
  void batchThatTries_andIsNotSent_endsItsTry() {
    fails("a");
    now += THIRD;
    List<Charge> trier = batch("a");
    assertThat(isRejected(trier)).isFalse();
    locked.failed(keys(trier), List.of(trier), null);
    assertThat(isRejected("a")).isFalse();
    assertThat(isRejected("a")).isTrue();
  }

  @Test
  void failureOfAnotherBucket_keepsTheBucketsThatAreDueForATry() {
    fails("a");
    now += THIRD;
    fails("b");
    assertThat(isRejected("a")).isFalse();
    assertThat(isRejected("a")).as("while one batch tries").isTrue();
  }

  @Test
  void bucketThatNobodyHasTriedForATimeOut_isForgotten() {
    fails("a", "b");
    now += THIRD + TIMEOUT;
    assertThat(isRejected("a", "b")).isFalse();
    assertThat(isRejected("a", "b")).as("as no batch tries").isFalse();
  }

  @Test
  void slowCheck_whichLocksNothing_andFailedSharedCall_rejectNoBatch() {
    SQLException failure = new SQLException("locked, or slow");
    Charge check = new Charge("a", Op.CHECK, 1, 9, Effect.NO_END);
    locked.failed(keys(List.of(check)), List.of(List.of(check)), failure);
    assertThat(isRejected("a")).isFalse();
    List<Charge> both = batch("a", "b");
    locked.failed(keys(both), List.of(batch("a"), batch("b")), failure);
    assertThat(isRejected(both)).isFalse();
    fails("a");
    assertThat(locked.refusal(keys(List.of(check)), List.of(check))).isNull();
  }

  private static List<Charge> batch(String... buckets) {
    return Stream.of(buckets).map(key -> new Charge(key, Op.SPEND, 1, 9, Effect.NO_END)).toList();
  }

  private static List<byte[]> keys(List<Charge> batch) {
    List<byte[]> keys = new ArrayList<>();
    batch.forEach(charge -> keys.add(charge.key().getBytes(StandardCharsets.UTF_8)));
    return keys;
  }

  private boolean isRejected(String... buckets) {
    return isRejected(batch(buckets));
  }

  private boolean isRejected(List<Charge> batch) {
    return locked.refusal(keys(batch), batch) != null;
  }

  private void fails(String... buckets) {
    List<Charge> batch = batch(buckets);
    locked.failed(keys(batch), List.of(batch), new SQLException("locked"));
  }

  private void succeeds(String... buckets) {
    List<Charge> batch = batch(buckets);
    locked.succeeded(keys(batch), List.of(batch));
  }
}
