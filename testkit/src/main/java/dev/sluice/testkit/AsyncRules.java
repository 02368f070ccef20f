// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import static dev.sluice.testkit.Bench.A;
import static dev.sluice.testkit.Bench.B;
import static dev.sluice.testkit.Bench.ID;
import static dev.sluice.testkit.DecisionAssert.assertThat;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.limit.CurrentLimits;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.store.BucketStore;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

/** Tests of the asynchronous limiter, which must decide in the same way as the blocking limiter. */
interface AsyncRules extends DrivenStores {

  /** The longest time in which a stage must complete, in seconds. */
  long PATIENCE_SECONDS = 30;

  @CanIgnoreReturnValue
  static <T> T await(CompletionStage<T> stage) {
    try {
      return stage.toCompletableFuture().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      throw new AssertionError("the stage failed", e.getCause());
    } catch (TimeoutException e) {
      throw new AssertionError("the stage did not complete in time", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted", e);
    }
  }

  @Test
  default void async_traceReplayed_givesTheRecordedDecisions() {
    ManualTime time = new ManualTime();
    try (BucketStore store = newStore(time)) {
      Limiter limiter = Bench.limiter(new CurrentLimits(GcraVectors.limits()), store, time);
      List<JsonNode> decisions = GcraVectors.decisions();
      int line = 0;
      for (JsonNode act : GcraVectors.trace()) {
        time.set(act.get("at").asLong());
        assertThat(await(GcraVectors.actAsync(act, limiter)))
            .as("line %d, %s", line + 1, act)
            .isEqualTo(GcraVectors.text(decisions.get(line)));
        line++;
      }
    }
  }

  @Test
  default void async_bothViews_shareTheBuckets() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      assertThat(await(bench.limiter.async().spend(A, ID, 4))).isAllowed().hasRemaining(6);
      assertThat(bench.spend(3)).isAllowed().hasRemaining(3);
      assertThat(await(bench.limiter.async().check(A, ID, 4))).isDenied().hasRemaining(3);
      assertThat(await(bench.limiter.async().refund(A, ID, 1))).isAllowed().hasRemaining(4);
      await(bench.limiter.async().reset(A, ID));
      assertThat(bench.state()).hasRemaining(10);
    }
  }

  @Test
  default void async_reservationCancelled_restores() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      Reservation reservation =
          await(bench.limiter.async().reserve(List.of(bench.on(A, 4), bench.on(B, 2))));
      assertThat(reservation.decision()).isAllowed().hasRemaining(6);
      await(reservation.cancelAsync());
      assertThat(bench.state(A)).hasRemaining(10);
      assertThat(bench.state(B)).hasRemaining(10);
    }
  }

  @Test
  default void async_badRequest_failsTheStage() {
    try (Bench bench = Bench.tenPerSecond(this)) {
      for (CompletionStage<?> stage :
          List.of(
              bench.limiter.async().spend("Nobody", ID),
              bench.limiter.async().spend(A, ""),
              bench.limiter.async().check(A, ID, 11),
              bench.limiter.async().refund(A, ID, -1),
              bench.limiter.async().reset("Nobody", ID),
              bench.limiter.async().reserve(A, ID, 11),
              bench.limiter.async().spend(List.of(bench.on(A, 1), bench.on(A, 1))))) {
        assertThatThrownBy(
                () -> stage.toCompletableFuture().get(PATIENCE_SECONDS, TimeUnit.SECONDS))
            .hasCauseInstanceOf(InvalidRequestException.class);
      }
      assertThat(bench.state()).hasRemaining(10);
    }
  }
}
