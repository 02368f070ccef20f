// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.Limiter;
import dev.sluice.Reservation.Estimate;
import dev.sluice.Reservation.Estimate.EstimatedCost;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Methods whose cost is estimated, at 10 of 30 tokens, and known afterwards. */
class RateLimitedSettleTest {

  private final ApplicationContextRunner application =
      new ApplicationContextRunner()
          .withConfiguration(SluiceAutoConfigurationTest.ALL)
          .withPropertyValues(
              "sluice.limits.Tokens.id=string",
              "sluice.limits.Tokens.burst=30",
              "sluice.limits.Tokens.count=30",
              "sluice.limits.Tokens.period=1000h",
              "sluice.limits.Prompts.id=string",
              "sluice.limits.Prompts.burst=30",
              "sluice.limits.Prompts.count=30",
              "sluice.limits.Prompts.period=1000h");

  record Answer(Object usage, long prompt) {}

  static final class Refused extends RuntimeException {
    private static final long serialVersionUID = 1;
  }

  static final class Estimates {
    private final Estimate tokens = Estimate.mean(1, 10);

    public int high() {
      return 1_000;
    }

    public EstimatedCost of(String model) {
      return tokens.of(model);
    }
  }

  static class Model {

    @RateLimited(limit = "Tokens", id = "'a'", cost = "10", settle = "#result.usage")
    Answer fixed(Answer answer) {
      return answer;
    }

    @RateLimited(limit = "Tokens", id = "'a'", cost = "@estimates.high()", settle = "#result.usage")
    Answer tooHigh(Answer answer) {
      return answer;
    }

    @RateLimited(
        limit = "Tokens",
        id = "'a'",
        cost = "@estimates.of('m')",
        settle = "#result.usage")
    @RateLimited(limit = "Prompts", id = "'a'", cost = "5", settle = "#result.prompt")
    Answer learned(Answer answer) {
      return answer;
    }

    @RateLimited(limit = "Tokens", id = "'a'", cost = "10", settle = "#result.usage")
    CompletionStage<Answer> stage(CompletableFuture<Answer> answer) {
      return answer;
    }

    @RateLimited(limit = "Tokens", id = "'a'", cost = "10", settle = "#result.usage")
    Mono<Answer> mono(Mono<Answer> answer) {
      return answer;
    }

    @RateLimited(limit = "Tokens", id = "'a'", cost = "10", settle = "#result.usage")
    Flux<Answer> flux(Flux<Answer> answer) {
      return answer;
    }

    @RateLimited(
        limit = "Tokens",
        id = "'a'",
        cost = "10",
        settle = "#result.usage",
        countOnlyOn = Refused.class)
    Answer onlyRefused(RuntimeException failure) {
      throw failure;
    }
  }

  private void with(BiConsumer<Model, Limiter> test) {
    application
        .withBean(Model.class)
        .withBean("estimates", Estimates.class)
        .run(
            context -> {
              assertThat(context).hasNotFailed();
              test.accept(context.getBean(Model.class), context.getBean(Limiter.class));
            });
  }

  private static long left(Limiter limiter, String limit) {
    return limiter.check(limit, "a", 0).remaining();
  }

  @Test
  void estimateAboveTheBurst_countsAsTheBurst() {
    with(
        (model, limiter) -> {
          Answer answer = new Answer(4, 1);
          assertThat(model.tooHigh(answer)).isSameAs(answer);
          assertThat(left(limiter, "Tokens")).isEqualTo(26);
        });
  }

  @ParameterizedTest
  @CsvSource({"4, 26", "25, 5", "99, 0"})
  void trueCost_replacesTheEstimate_whateverTheMethodReturns(int usage, long left) {
    Answer answer = new Answer(usage, 1);
    with(
        (model, limiter) -> {
          assertThat(model.fixed(answer)).isSameAs(answer);
          assertThat(left(limiter, "Tokens")).isEqualTo(left);
        });
    with(
        (model, limiter) -> {
          CompletableFuture<Answer> work = new CompletableFuture<>();
          CompletionStage<Answer> result = model.stage(work);
          assertThat(left(limiter, "Tokens")).isEqualTo(20);
          work.complete(answer);
          assertThat(result).isCompletedWithValue(answer);
          assertThat(left(limiter, "Tokens")).isEqualTo(left);
        });
    with(
        (model, limiter) -> {
          assertThat(model.mono(Mono.just(answer)).block()).isSameAs(answer);
          assertThat(left(limiter, "Tokens")).isEqualTo(left);
        });
    with(
        (model, limiter) -> {
          Flux<Answer> stream = Flux.just(new Answer(null, 0), answer);
          assertThat(model.flux(stream).collectList().block()).hasSize(2);
          assertThat(left(limiter, "Tokens")).isEqualTo(left);
        });
  }

  @Test
  void eachAnnotation_hasItsOwnTrueCost_andEstimatesLearn() {
    with(
        (model, limiter) -> {
          for (int i = 0; i < 20; i++) {
            var unused = model.learned(new Answer("1", 1));
          }
          assertThat(left(limiter, "Tokens")).isEqualTo(10);
          assertThat(left(limiter, "Prompts")).isEqualTo(10);

          var unused = model.learned(new Answer(null, 2));

          assertThat(left(limiter, "Tokens")).as("the learned estimate").isEqualTo(9);
          assertThat(left(limiter, "Prompts")).isEqualTo(8);
        });
  }

  @Test
  void noTrueCost_leavesTheEstimateSpent_andTheResultIsReturned() {
    for (Object usage : new Object[] {0, -1, 0.5, "many"}) {
      with(
          (model, limiter) -> {
            assertThat(model.fixed(new Answer(usage, 1)).usage()).isEqualTo(usage);
            assertThat(left(limiter, "Tokens")).isEqualTo(20);
          });
    }
    with(
        (model, limiter) -> {
          assertThat(model.fixed(null)).isNull();
          assertThat(left(limiter, "Tokens")).isEqualTo(20);

          assertThat(model.stage(CompletableFuture.failedFuture(new Refused())))
              .isCompletedExceptionally();
          assertThat(left(limiter, "Tokens")).isEqualTo(10);

          model.mono(Mono.never()).subscribe().dispose();
          assertThat(left(limiter, "Tokens")).isZero();
        });
  }

  @Test
  void failureThatDoesNotCount_isFree() {
    with(
        (model, limiter) -> {
          assertThatThrownBy(() -> model.onlyRefused(new IllegalStateException()))
              .isInstanceOf(IllegalStateException.class);
          assertThat(left(limiter, "Tokens")).isEqualTo(30);

          assertThatThrownBy(() -> model.onlyRefused(new Refused())).isInstanceOf(Refused.class);
          assertThat(left(limiter, "Tokens")).isEqualTo(20);
        });
  }

  static class Wrong {
    @RateLimited(limit = "Tokens", id = "'a'", settle = "#result.usage")
    void nothing() {}

    @RateLimited(limit = "Tokens", id = "'a'", settle = "#results.usage")
    Answer misspelt() {
      return new Answer(1, 1);
    }

    @RateLimited(limit = "Tokens", id = "'a'", cost = "#result.usage")
    Answer early() {
      return new Answer(1, 1);
    }

    @RateLimited(limit = "Tokens", id = "'a'", settle = "#result.usage")
    Callable<Answer> later() {
      return () -> new Answer(1, 1);
    }
  }

  @Test
  void mistakes_areRefusedAtStart() {
    application
        .withBean(Wrong.class)
        .run(
            context ->
                assertThat(context.getStartupFailure())
                    .hasStackTraceContaining(
                        "Wrong.nothing: settle: found a method without a result")
                    .hasStackTraceContaining(
                        "settle: found #results in \"#results.usage\", expected a parameter of the method: [result]")
                    .hasStackTraceContaining("cost: found #result in")
                    .hasStackTraceContaining("settle: found the result Callable"));
  }
}
