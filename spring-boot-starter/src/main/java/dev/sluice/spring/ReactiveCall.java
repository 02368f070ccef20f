// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.Limiter;
import dev.sluice.spring.RateLimitedCall.Admission;
import dev.sluice.spring.RateLimitedCall.Outcome;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** Limits calls that return a publisher. Each subscription spends. Needs Reactor. */
final class ReactiveCall {

  private ReactiveCall() {}

  static Publisher<?> publisher(RateLimitedCall call, RateLimitedMethod method, Limiter limiter) {
    Mono<Admission> admitted =
        Mono.defer(() -> answer(call.admit(limiter)))
            .doOnDiscard(Admission.class, Admission::neverRan);
    return method.method().getReturnType() == Mono.class
        ? admitted.flatMap(admission -> mono(call, admission))
        : admitted.flatMapMany(admission -> flux(call, admission));
  }

  /** Returns the admission. The application's code never runs on the store's threads. */
  private static Mono<Admission> answer(CompletableFuture<Admission> admission) {
    Mono<Admission> answer = Mono.fromFuture(admission);
    return admission.isDone() ? answer : answer.publishOn(Schedulers.parallel());
  }

  private static Mono<Object> mono(RateLimitedCall call, Admission admission) {
    Call made = new Call(admission);
    return !admission.batch().isOpen()
        ? Mono.from(body(call, admission))
        : Mono.usingWhen(
            Mono.just(made),
            one -> Mono.from(body(call, admission)).doOnNext(one.last::set),
            Call::returned,
            Call::failed,
            Call::cancelled);
  }

  private static Flux<Object> flux(RateLimitedCall call, Admission admission) {
    Call made = new Call(admission);
    return !admission.batch().isOpen()
        ? Flux.from(body(call, admission))
        : Flux.usingWhen(
            Mono.just(made),
            one -> Flux.from(body(call, admission)).doOnNext(one.last::set),
            Call::returned,
            Call::failed,
            Call::cancelled);
  }

  /**
   * A call that was admitted.
   *
   * @param last the last element of the result
   */
  private record Call(Admission admission, AtomicReference<@Nullable Object> last) {

    private Call(Admission admission) {
      this(admission, new AtomicReference<>());
    }

    private Mono<Void> returned() {
      return settled(Outcome.of(last.get(), null));
    }

    private Mono<Void> failed(Throwable failure) {
      return settled(Outcome.of(null, failure));
    }

    private Mono<Void> settled(Outcome outcome) {
      return Mono.fromCompletionStage(admission.settleAsync(outcome));
    }

    private Mono<Void> cancelled() {
      return Mono.fromRunnable(admission.batch()::leaveSpent);
    }
  }

  @SuppressWarnings("unchecked") // the method returns a Publisher
  private static Publisher<Object> body(RateLimitedCall call, Admission admission) {
    try {
      MethodInvocation later = call.later();
      Object result = admission.denied() ? call.denied(admission.decision()) : later.proceed();
      return result == null ? Mono.empty() : (Publisher<Object>) result;
    } catch (Throwable failure) {
      return Mono.error(failure);
    }
  }
}
