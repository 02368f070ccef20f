// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Transaction;
import dev.sluice.internal.async.Stages;
import dev.sluice.limit.InvalidRequestException.UnknownLimitException;
import dev.sluice.limit.Limits;
import dev.sluice.limit.Limits.Requirement;
import dev.sluice.store.StoreException;
import dev.sluice.web.Match.Trial;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The shared code of all filters: charges requests by rules, and prepares the responses to refused
 * requests.
 *
 * <p>A request spends from all limits of all rules that match the request, or from none.
 * {@linkplain Rule.Builder#shadow Shadow rules} are charged afterwards, each separately, for
 * requests that were admitted. If the store fails, the limiter's {@link dev.sluice.FailureRule}
 * decides. If the failure rule denies the request or throws, the request is refused with a 503.
 *
 * <p>Thread-safe. {@link #admit} blocks until the store has decided; {@link #admitAsync} never
 * blocks.
 */
public final class RequestLimiter implements AutoCloseable {

  private final Limiter limiter;
  private final AsyncLimiter async;
  private final Rules rules;
  private final AtomicReference<List<Requirement>> required;
  private final Function<Limits, List<String>> check;
  private final HeaderProfile profile;
  private final RefusalHook onDenied;
  private final RefusalHook onError;
  private final QuietLog log;

  RequestLimiter(
      Limiter limiter,
      Rules rules,
      List<Requirement> required,
      HeaderProfile profile,
      RefusalHook onDenied,
      RefusalHook onError) {
    this.onDenied = onDenied.guarded();
    this.onError = onError.guarded();
    this.limiter = limiter;
    this.async = limiter.async();
    this.rules = rules;
    this.required = new AtomicReference<>(required);
    this.profile = profile;
    this.log = new QuietLog(System.getLogger(RequestLimiter.class.getName()), System::nanoTime);
    this.check = rules::faults;
    limiter.limits().addCheck(check);
    try {
      limiter.limits().require(required);
    } catch (RuntimeException e) {
      limiter.limits().removeCheck(check);
      throw e;
    }
  }

  /**
   * Returns a builder.
   *
   * @param limiter the limiter that decides
   * @return a builder without rules
   */
  public static Builder builder(Limiter limiter) {
    return new Builder(limiter);
  }

  /**
   * Charges a request.
   *
   * @param request the request
   * @return whether the request may pass. If the store fails, or if the request cannot be charged,
   *     the result is a refusal; no exception is thrown
   */
  public Admission admit(WebRequest request) {
    try {
      Match match = rules.match(request, limiter.limits().get());
      if (match.isDenied()) {
        return deniedByRule(request);
      }
      Decision decision = match.enforced().isEmpty() ? null : match.enforced().spend(limiter);
      if (decision != null && decision.denied()) {
        return denied(request, decision);
      }
      List<Batch<Ending>> spent = new ArrayList<>();
      spent.add(match.enforced());
      for (Trial trial : match.trials()) {
        try {
          Batch<Ending> batch = Batch.join(trial.batch());
          if (!batch.isEmpty()) {
            report(trial, batch.spend(limiter));
            spent.add(batch);
          }
        } catch (Exception e) { // a function in Kotlin can throw a checked exception
          failed(trial, e);
        }
      }
      return Admission.passed(decision, spent, log);
    } catch (RuntimeException e) {
      return refused(request, e);
    }
  }

  /**
   * Charges a request without blocking. To stop waiting, cancel the returned stage's {@code
   * toCompletableFuture()}. A cancellation before the charge is sent to the store prevents the
   * charge; after a later cancellation, the tokens stay spent.
   *
   * @param request the request
   * @return see {@link #admit}
   */
  public CompletionStage<Admission> admitAsync(WebRequest request) {
    CompletableFuture<Admission> admission = new CompletableFuture<>();
    Stages.onEnd(
        rules.matchAsync(request, limiter.limits().get()),
        (match, failure) -> {
          if (match == null) {
            complete(admission, request, failure);
          } else if (match.isDenied()) {
            admission.complete(deniedByRule(request));
          } else if (!admission.isDone()) { // done if the caller cancelled it
            try {
              admit(match, request, admission);
            } catch (RuntimeException e) {
              complete(admission, request, e);
            }
          }
        });
    return admission;
  }

  private void admit(Match match, WebRequest request, CompletableFuture<Admission> admission) {
    CompletableFuture<@Nullable Decision> spent =
        match.enforced().isEmpty()
            ? CompletableFuture.completedFuture(null)
            : match.enforced().spendAsync(async, Batch::leaveSpent);
    Stages.onEnd(
        spent.thenCompose(
            decision ->
                decision != null && decision.denied()
                    ? CompletableFuture.completedFuture(denied(request, decision))
                    : spendTrials(match, decision)),
        (made, failure) -> {
          if (made == null) {
            complete(admission, request, failure);
          } else if (!admission.complete(made)) {
            made.leaveSpent(); // the caller cancelled
          }
        });
    // If the caller cancels the admission, the charge is cancelled too.
    Stages.onEnd(admission, (made, failure) -> spent.cancel(false));
  }

  /**
   * Completes an admission after a failure: with a refusal if {@link #refused} returns a refusal
   * for this failure, otherwise exceptionally.
   */
  private void complete(
      CompletableFuture<Admission> admission, WebRequest request, Throwable failure) {
    Throwable cause = Stages.cause(failure);
    try {
      if (cause instanceof RuntimeException e) {
        admission.complete(refused(request, e));
      } else {
        admission.completeExceptionally(cause);
      }
    } catch (RuntimeException e) {
      admission.completeExceptionally(e);
    }
  }

  private CompletableFuture<Admission> spendTrials(Match match, @Nullable Decision decision) {
    List<CompletableFuture<Batch<Ending>>> trials =
        match.trials().stream().map(this::spendTrial).toList();
    return CompletableFuture.allOf(trials.toArray(CompletableFuture<?>[]::new))
        .thenApply(
            done -> {
              List<Batch<Ending>> spent = new ArrayList<>();
              spent.add(match.enforced());
              trials.forEach(trial -> spent.add(trial.join()));
              return Admission.passed(decision, spent, log);
            });
  }

  private CompletableFuture<Batch<Ending>> spendTrial(Trial trial) {
    CompletableFuture<Batch<Ending>> charged;
    try {
      charged = trial.batch();
    } catch (Exception e) { // a function in Kotlin can throw a checked exception
      charged = CompletableFuture.failedFuture(e);
    }
    return charged
        .thenCompose(
            batch ->
                batch.isEmpty()
                    ? CompletableFuture.completedFuture(batch)
                    : batch
                        .spendAsync(async, Batch::leaveSpent)
                        .thenApply(
                            decision -> {
                              report(trial, decision);
                              return batch;
                            }))
        .exceptionally(
            failure -> {
              failed(trial, failure);
              return new Batch<>();
            });
  }

  private void report(Trial trial, Decision decision) {
    if (decision.denied() && decision.transaction() != null) {
      log.shadowDenied(trial.rule(), decision.transaction().name());
    }
  }

  /** Logs the failure of a shadow rule, which does not affect the client. */
  private void failed(Trial trial, Throwable failure) {
    if (Stages.cause(failure) instanceof Exception e) {
      reportFailed("the limiter could not decide for the shadow rule on " + trial.rule(), e);
    } else {
      throw new CompletionException(Stages.cause(failure));
    }
  }

  private Admission deniedByRule(WebRequest request) {
    return refused(request, null, Refusal.deniedByRule(), null);
  }

  private Admission denied(WebRequest request, Decision decision) {
    return refused(request, decision, Refusal.denied(decision, profile), null);
  }

  /** Returns a refusal if no decision could be made; rethrows other failures. */
  private Admission refused(WebRequest request, RuntimeException failure) {
    if (failure instanceof UnusableRequestException e) {
      return refused(request, null, Refusal.unusable(e), e.detail());
    }
    if (failure instanceof QuotaFailedException e) {
      reportFailed("the application could not supply a quota", e);
      return refused(request, null, Refusal.quotaFailed(), null);
    }
    if (failure instanceof StoreException || failure instanceof UnknownLimitException) {
      reportFailed("the limiter could not decide on a request", failure);
      return refused(request, null, Refusal.storeFailed(), null);
    }
    throw failure;
  }

  /** Logs a failure; also tells the observer if the application failed to supply a quota. */
  private void reportFailed(String what, Exception failure) {
    log.failed(what, failure);
    if (failure instanceof QuotaFailedException e) {
      Throwable cause = e.getCause();
      limiter.observer().quotaFailed(e.limit(), cause == null ? e : cause);
    }
  }

  private Admission refused(
      WebRequest request,
      @Nullable Decision decision,
      Refusal prepared,
      @Nullable String unusable) {
    RefusalHook hook = prepared.status() == 429 ? onDenied : onError;
    return Admission.refused(decision, hook.refuse(request, decision, prepared), unusable, log);
  }

  /**
   * Returns the headers of the response to an admitted request.
   *
   * @param decision the decision that admitted the request; if several filters decided, the
   *     strictest decision; null if no rule matched the request
   * @return names and values, to be set on the response; empty if no rule matched the request
   */
  public Map<String, String> headers(@Nullable Decision decision) {
    return decision == null ? Map.of() : profile.headers(decision);
  }

  /**
   * Returns the trailers of the response to a request whose cost was estimated: the rate limit
   * headers with the numbers after the true cost was charged. Call this method after the admission
   * has ended. This method blocks, since it reads the buckets again.
   *
   * @param admission the result of {@link #admit} for the request
   * @return names and values; empty if only shadow rules estimated the cost, if the settlement
   *     failed, or if the buckets could not be read
   */
  public Map<String, String> trailers(Admission admission) {
    List<Transaction> reads = admission.readsAfter();
    if (reads.isEmpty()) {
      return Map.of();
    }
    try {
      Map<String, String> headers = new LinkedHashMap<>(headers(limiter.check(reads)));
      headers.remove("Retry-After"); // the request was admitted
      return headers;
    } catch (RuntimeException e) {
      log.failed("the response has no trailers", e);
      return Map.of();
    }
  }

  /**
   * Allows reloads to remove or change limits that the rules use. Never blocks; a second call does
   * nothing.
   */
  @Override
  public void close() {
    limiter.limits().release(required.getAndSet(List.of()));
    limiter.limits().removeCheck(check);
  }

  /** Makes a {@link RequestLimiter}. Not thread-safe. */
  public static final class Builder extends RuleBuilder<Builder> {

    private Builder(Limiter limiter) {
      super(limiter);
    }

    @Override
    protected Builder self() {
      return this;
    }

    /**
     * Checks the rules against the limits, and makes the request limiter.
     *
     * @return the request limiter, which must be closed
     * @throws IllegalArgumentException if a rule does not fit the limits; the message contains
     *     every mistake, such as an unknown limit, a limit without a default, an id that does not
     *     have the limit's format, or a cost above the burst
     */
    public RequestLimiter build() {
      return requestLimiter();
    }
  }
}
