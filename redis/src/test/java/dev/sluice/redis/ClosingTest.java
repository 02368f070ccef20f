// SPDX-License-Identifier: Apache-2.0
package dev.sluice.redis;

import static dev.sluice.redis.Eventually.await;
import static dev.sluice.redis.Spending.LIMIT;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.StoreException;
import dev.sluice.testkit.servers.LocalRedis;
import dev.sluice.testkit.servers.RedisBinary;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Whoever asked is answered: when the store closes, and when what it was given throws. */
final class ClosingTest {

  private final LocalRedis redis = LocalRedis.start(RedisBinary.bundled());

  @AfterEach
  void stop() {
    redis.close();
  }

  private RedisStoreBuilder builder() {
    return RedisStore.builder(redis.uri())
        .timeout(Duration.ofMinutes(1))
        .connectTimeout(Duration.ofMinutes(1))
        .denials(Duration.ZERO);
  }

  @Test
  void close_withCallsUnderWayAndWaiting_endsThemAll() {
    List<CompletableFuture<List<Reading>>> calls = new ArrayList<>();
    RedisStore store = builder().open();
    store.ping();
    redis.freeze();
    for (int i = 0; i < 300; i++) {
      calls.add(store.chargeAsync(Charges.spend("1:a")).toCompletableFuture());
    }
    store.close();
    assertThat(calls)
        .allSatisfy(
            call ->
                assertThatThrownBy(() -> call.get(60, TimeUnit.SECONDS))
                    .hasCauseInstanceOf(StoreException.class)
                    .hasMessageContaining("the store was closed"));
    // Two calls were under way; the rest had not left.
    assertThatThrownBy(calls.get(0)::join).hasMessageContaining("unknown");
    assertThatThrownBy(calls.get(299)::join).hasMessageContaining("nothing was charged");
    redis.thaw();
  }

  @Test
  void close_beforeThereIsAConnection_endsWhatWaitsForIt() {
    redis.kill();
    RedisStore store = builder().open(); // refused at once; a frozen server would keep it waiting
    redis.startAgain();
    redis.freeze();
    CompletableFuture<List<Reading>> call =
        store.chargeAsync(Charges.spend("1:a")).toCompletableFuture();
    store.close();
    assertThatThrownBy(() -> call.get(60, TimeUnit.SECONDS))
        .hasMessageContaining("the store was closed; nothing was charged");
    redis.thaw();
  }

  @Test
  void close_waitsForARefundThatIsUnderWay() {
    RedisStore store = builder().open();
    Limiter limiter = Limiter.of(Spending.LIMITS, store);
    assertThat(Spending.granted(limiter, "a", 10)).isEqualTo(10);
    redis.freeze();
    CompletableFuture<Decision> refund =
        limiter.async().refund(LIMIT, "a", 10).toCompletableFuture();
    CompletableFuture<Void> closing = CompletableFuture.runAsync(store::close);
    redis.thaw();
    assertThat(refund.join().allowed()).isTrue();
    closing.join();
    // The bucket is full; its key goes 2 ms after the TAT, and ten hours later without the refund.
    await().until(() -> redis.command("EXISTS", "1:a").equals(0L));
  }

  @Test
  void close_onAThreadOfTheStore_isLeftToAnother() {
    RedisStore store = builder().open();
    store.ping();
    redis.freeze(); // or the answer could be there before something is chained to it
    CompletableFuture<String> closing =
        store
            .chargeAsync(Charges.spend("1:a"))
            .thenApply(
                readings -> {
                  store.close();
                  return Thread.currentThread().getName();
                })
            .toCompletableFuture();
    redis.thaw();
    assertThat(closing.join()).startsWith("sluice-redis-");
    assertThatThrownBy(() -> store.charge(Charges.check("1:a"))).hasMessageContaining("is closed");
    await().until(() -> !String.valueOf(redis.command("CLIENT", "LIST")).contains("cmd=evalsha"));
  }

  @Test
  void clockThatThrows_failsItsCallAndNoLaterOne() {
    AtomicBoolean broken = new AtomicBoolean(true);
    long now = TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis());
    try (RedisStore store =
        builder()
            .clock(
                () -> {
                  if (broken.get()) {
                    throw new IllegalStateException("no time");
                  }
                  return now;
                })
            .skew(Duration.ZERO)
            .open()) {
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      assertThatThrownBy(() -> limiter.spend(LIMIT, "a"))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("no time; nothing was charged");
      broken.set(false);
      assertThat(Spending.granted(limiter, "a", 3)).isEqualTo(3);
    }
  }

  @Test
  void observerThatThrows_changesNothing() {
    BucketStore.Observer throwing =
        new BucketStore.Observer() {
          @Override
          public void called(
              String server, Result result, int batches, int charges, long elapsedNanos) {
            throw new IllegalStateException("as the test wants");
          }
        };
    try (RedisStore store = builder().observer(throwing).open()) {
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      assertThat(Spending.granted(limiter, "a", 110)).isEqualTo(Spending.BURST);
    }
  }

  /**
   * It blocks at the first time-out; the others end in time, and it hears of all in their order.
   */
  @Test
  void observerThatBlocks_delaysNoTimeOut_andHearsOfAllLater() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    List<String> heard = new CopyOnWriteArrayList<>();
    BucketStore.Observer blocking =
        new BucketStore.Observer() {
          @Override
          public void called(String server, Result result, int batches, int charges, long nanos) {
            if (result == Result.TIMED_OUT) {
              awaitZero(end);
              heard.add("timed out");
            }
          }

          @Override
          public void changed(String server, State state, String reason) {
            heard.add(state.name());
          }
        };
    try (RedisStore store =
        builder()
            .timeout(Duration.ofMillis(500))
            .failures(3)
            .probe(Duration.ofMillis(50))
            .observer(blocking)
            .open()) {
      await().ignoreExceptions().untilAsserted(store::ping); // a busy machine may need longer
      redis.freeze();
      for (int i = 0; i < 5; i++) {
        CompletableFuture<List<Reading>> call =
            store.chargeAsync(Charges.spend("1:a")).toCompletableFuture();
        assertThatThrownBy(() -> call.get(60, TimeUnit.SECONDS))
            .hasCauseInstanceOf(StoreException.class);
      }
      redis.thaw();
      await().until(() -> isAnswered(store)); // the breaker's probe found it
      assertThat(heard).isEmpty();
      end.countDown();
      await().until(() -> heard.contains("UP"));
      assertThat(heard).containsSubsequence("timed out", "timed out", "DOWN", "timed out", "UP");
    }
  }

  private static boolean isAnswered(RedisStore store) {
    try {
      return !store.charge(Charges.spend("1:a")).isEmpty();
    } catch (StoreException e) {
      return false; // marked down still
    }
  }

  private static void awaitZero(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void interruptedCaller_whoseTurnHasNotCome_isNotCharged() throws InterruptedException {
    try (RedisStore store = builder().open()) {
      Limiter limiter = Limiter.of(Spending.LIMITS, store);
      store.ping();
      redis.freeze();
      var first = store.chargeAsync(Charges.spend("1:a")).toCompletableFuture();
      var second = store.chargeAsync(Charges.spend("1:a")).toCompletableFuture();
      CompletableFuture<Boolean> stillInterrupted = new CompletableFuture<>();
      Thread caller =
          new Thread(
              () -> {
                assertThatThrownBy(() -> limiter.spend(LIMIT, "a"))
                    .hasMessageContaining("interrupted");
                stillInterrupted.complete(Thread.currentThread().isInterrupted());
              });
      caller.start();
      caller.interrupt();
      assertThat(stillInterrupted.join()).isTrue();
      caller.join();
      redis.thaw();
      first.join();
      second.join();
      assertThat(limiter.check(LIMIT, "a", 0).remaining()).isEqualTo(Spending.BURST - 2);
    }
  }
}
