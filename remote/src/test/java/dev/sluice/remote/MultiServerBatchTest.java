// SPDX-License-Identifier: Apache-2.0
package dev.sluice.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.gcra.Effect.Op;
import dev.sluice.store.BucketStore;
import dev.sluice.store.BucketStore.Charge;
import dev.sluice.store.BucketStore.Reading;
import dev.sluice.store.BucketStore.Tentative;
import dev.sluice.store.StoreException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A batch over two servers, whose answers come as a test wants: what its caller is told. */
final class MultiServerBatchTest {

  private final StoreException notSent = ChargeOutcome.NOTHING.exception("one is marked down");
  private final StoreException lost = ChargeOutcome.UNKNOWN.exception("timed out on one");

  private final Timing timing = new SystemTiming("remote");
  private final List<RequestQueue> queues = List.of(queue("one"), queue("other"));
  private final List<Request> sent = new ArrayList<>();
  private final List<List<Charge>> givenBack = new ArrayList<>();
  private @Nullable Error onSecond;

  private RequestQueue queue(String server) {
    BucketStore.Observer observer = new BucketStore.Observer() {};
    Breaker breaker =
        new Breaker(
            server,
            5,
            1_000_000,
            CompletableFuture<String>::new,
            timing,
            observer,
            new StoreLog("remote"));
    Endpoint endpoint =
        new Endpoint() {
          @Override
          public String name() {
            return server;
          }

          @Override
          public Breaker breaker() {
            return breaker;
          }

          @Override
          public RemoteCall<?> call(List<byte[]> keys, List<List<Charge>> batches) {
            throw new IllegalStateException("nothing is submitted");
          }

          @Override
          public Fault fault(@Nullable Throwable failure) {
            throw new IllegalStateException(failure);
          }
        };
    RequestQueue.Options options =
        new RequestQueue.Options(100, 2, 100, Duration.ofMinutes(5).toNanos());
    return new RequestQueue(endpoint, options, new AtomicInteger(), timing, observer);
  }

  @AfterEach
  void stop() {
    timing.close();
  }

  private static Request request(List<Charge> charges) {
    List<byte[]> keys =
        charges.stream().map(c -> c.key().getBytes(StandardCharsets.UTF_8)).toList();
    return new Request(charges, keys, Long.MAX_VALUE, Long.MAX_VALUE);
  }

  private CompletableFuture<List<Reading>> batch(List<Charge> charges, Tentative tentative) {
    List<@Nullable Reading> known = new ArrayList<>();
    charges.forEach(charge -> known.add(null));
    return new MultiServerBatch(
            charges,
            known,
            tentative,
            (queue, part) -> {
              Error error = onSecond;
              if (error != null && sent.size() == 1) {
                throw error;
              }
              sent.add(request(part));
              return sent.get(sent.size() - 1);
            },
            (queue, part) -> {
              givenBack.add(part);
              return request(part);
            })
        .charge(queues);
  }

  private CompletableFuture<List<Reading>> spends() {
    return batch(Charges.spend("1:a", "1:b"), MultiServerBatch.ALONE);
  }

  private CompletableFuture<List<Reading>> checks() {
    return batch(
        List.of(Charges.check("1:a").get(0), Charges.check("1:b").get(0)), MultiServerBatch.ALONE);
  }

  private void grant(int part) {
    sent.get(part).complete(List.of(new Reading(1_000, 1_000)));
  }

  private static void assertNothing(CompletableFuture<?> verdict) {
    assertThatThrownBy(verdict::join)
        .hasCauseInstanceOf(StoreException.class)
        .hasMessageEndingWith("; nothing was charged");
  }

  private static void assertUnknown(CompletableFuture<?> verdict) {
    assertThatThrownBy(verdict::join)
        .hasCauseInstanceOf(StoreException.class)
        .hasMessageEndingWith("; whether anything was charged is unknown")
        .hasMessageNotContaining("nothing was charged");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void partWhoseAnswerIsLost_makesTheBatchUnknown_whateverTheOtherSays(int silent) {
    CompletableFuture<List<Reading>> verdict = spends();
    sent.get(1 - silent).completeExceptionally(notSent);
    sent.get(silent).completeExceptionally(lost);
    assertUnknown(verdict);
  }

  /** It is given back, but nobody knows yet whether that arrives. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void partThatWasGranted_makesTheBatchUnknown(int granted) {
    CompletableFuture<List<Reading>> verdict = spends();
    sent.get(1 - granted).completeExceptionally(notSent);
    grant(granted);
    assertUnknown(verdict);
    assertThat(givenBack).hasSize(1);
    assertThat(givenBack.get(0)).extracting(Charge::op).containsExactly(Op.REFUND);
  }

  @Test
  void partsThatNeverLeft_chargeNothing() {
    CompletableFuture<List<Reading>> verdict = spends();
    sent.forEach(part -> part.completeExceptionally(notSent));
    assertNothing(verdict);
  }

  @Test
  void partThatDenied_chargesNothing() {
    CompletableFuture<List<Reading>> verdict = spends();
    sent.get(0).complete(List.of(new Reading(1_000, Long.MAX_VALUE)));
    sent.get(1).completeExceptionally(notSent);
    assertNothing(verdict);
    assertThat(givenBack).isEmpty();
  }

  @Test
  void checks_chargeNothing_whateverBecomesOfThem() {
    CompletableFuture<List<Reading>> verdict = checks();
    sent.get(0).completeExceptionally(lost);
    grant(1);
    assertNothing(verdict);
  }

  /** Tells what became of each part. */
  private static final class Followed implements Tentative {
    private final AtomicInteger begun = new AtomicInteger();
    private final AtomicInteger kept = new AtomicInteger();

    @Override
    public Part begin(Charge charge) {
      begun.incrementAndGet();
      return new Part() {
        @Override
        public Charge giveBack(Reading found) {
          throw new NoClassDefFoundError("as the test wants");
        }

        @Override
        public void gaveBack(@Nullable Reading found) {}

        @Override
        public void kept() {
          kept.incrementAndGet();
        }
      };
    }
  }

  @Test
  void errorWhileSettling_reachesTheCaller_andTheRestIsKept() {
    Followed followed = new Followed();
    CompletableFuture<List<Reading>> verdict = batch(Charges.spend("1:a", "1:b"), followed);
    grant(0);
    sent.get(1).completeExceptionally(notSent);
    assertThat(verdict).isCompletedExceptionally();
    assertThatThrownBy(verdict::join).hasRootCauseInstanceOf(NoClassDefFoundError.class);
    assertThat(followed.begun).hasValue(2);
    assertThat(followed.kept).as("the other, whose answer is not known").hasValue(1);
  }

  @Test
  void errorWhileTheSecondPartIsSent_reachesTheCaller_andNothingIsGivenBack() {
    Followed followed = new Followed();
    onSecond = new NoClassDefFoundError("as the test wants");
    assertThatThrownBy(() -> batch(Charges.spend("1:a", "1:b"), followed)).isSameAs(onSecond);
    assertThat(followed.kept).hasValue(2);
    assertThat(givenBack).isEmpty();
  }

  /** The second round reads an answer with a reading too many. */
  @Test
  void errorInTheSecondRound_reachesTheCaller() {
    CompletableFuture<List<Reading>> verdict =
        batch(
            List.of(Charges.spend("1:a").get(0), Charges.refund("1:b").get(0)),
            MultiServerBatch.ALONE);
    grant(0);
    grant(1); // it only looked
    assertThat(verdict).isNotDone();
    assertThat(sent).hasSize(3);
    Reading one = new Reading(1_000, 1_000);
    sent.get(2).complete(List.of(one, one));
    assertThatThrownBy(verdict::join).hasCauseInstanceOf(IndexOutOfBoundsException.class);
  }
}
