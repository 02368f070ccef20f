// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.Reservation;
import dev.sluice.Transaction;
import dev.sluice.async.Stages;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.Limits;
import dev.sluice.spring.RateLimitedMethod.Fallback;
import dev.sluice.spring.RateLimitedMethod.Spend;
import dev.sluice.store.StoreException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Predicate;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.Expression;
import org.springframework.expression.spel.SpelEvaluationException;
import org.springframework.expression.spel.SpelMessage;

/** One call of a limited method. */
final class RateLimitedCall {

  private static final Logger LOG = System.getLogger(RateLimitedCall.class.getName());

  /** What no arguments of a caller can cause, only an expression or a bean. */
  private static final Set<SpelMessage> MISTAKES =
      EnumSet.of(
          SpelMessage.CONSTRUCTOR_NOT_FOUND,
          SpelMessage.EXCEPTION_DURING_BEAN_RESOLUTION,
          SpelMessage.METHOD_NOT_FOUND,
          SpelMessage.PROPERTY_OR_FIELD_NOT_READABLE,
          SpelMessage.TYPE_NOT_FOUND);

  private final RateLimitedMethod method;
  private final MethodInvocation call;
  private final BeanFactoryResolver beans;

  RateLimitedCall(RateLimitedMethod method, MethodInvocation call, BeanFactoryResolver beans) {
    this.method = method;
    this.call = call;
    this.beans = beans;
  }

  /** The spends of a call: each bucket once, at the highest cost. */
  record Batch(Map<String, Transaction> byBucket, Map<String, List<Spend>> spends) {

    List<Transaction> transactions() {
      return List.copyOf(byBucket.values());
    }

    boolean isConditional() {
      return spends.values().stream()
          .anyMatch(ofBucket -> ofBucket.stream().allMatch(Spend::isConditional));
    }

    /** The transactions to give back after such an ending. */
    Predicate<Transaction> isFree(@Nullable Throwable failure) {
      return transaction ->
          spends.getOrDefault(transaction.bucketKey(), List.of()).stream()
              .noneMatch(spend -> spend.counts(failure));
    }
  }

  /** The decision on a batch, with its reservation where exceptions decide what counts. */
  record Admission(Batch batch, Decision decision, @Nullable Reservation reservation) {

    boolean denied() {
      return decision.denied();
    }

    void settle(@Nullable Throwable failure) {
      if (reservation != null) {
        try {
          reservation.cancel(batch.isFree(failure));
        } catch (StoreException e) {
          notGivenBack(e);
        } finally {
          reservation.close();
        }
      }
    }

    @CanIgnoreReturnValue
    CompletionStage<Void> settleAsync(@Nullable Throwable failure) {
      return reservation == null
          ? CompletableFuture.completedFuture(null)
          : reservation
              .cancelAsync(batch.isFree(failure))
              .exceptionally(
                  notGivenBack -> {
                    notGivenBack(notGivenBack);
                    return null;
                  });
    }

    /** The method was not called, so it has not failed either. */
    void neverRan() {
      settleAsync(null);
    }

    void leaveSpent() {
      if (reservation != null) {
        reservation.close();
      }
    }

    private static void notGivenBack(Throwable failure) {
      LOG.log(Level.WARNING, "tokens were not given back: {0}", failure.getMessage());
    }
  }

  /** Evaluates the expressions. */
  Batch batch(Limits limits) {
    MethodBasedEvaluationContext context =
        new MethodBasedEvaluationContext(
            call.getThis(), method.method(), call.getArguments(), MethodParser.NAMES);
    context.setBeanResolver(beans);
    Map<String, Transaction> byBucket = new LinkedHashMap<>();
    Map<String, List<Spend>> spends = new LinkedHashMap<>();
    for (Spend spend : method.spends()) {
      Transaction transaction = transaction(spend, context, limits);
      String bucket = transaction.bucketKey();
      byBucket.merge(bucket, transaction, (one, two) -> two.cost() > one.cost() ? two : one);
      spends.computeIfAbsent(bucket, key -> new ArrayList<>(1)).add(spend);
    }
    return new Batch(byBucket, spends);
  }

  private Transaction transaction(
      Spend spend, MethodBasedEvaluationContext context, Limits limits) {
    List<String> parts = new ArrayList<>(spend.id().size());
    for (Expression part : spend.id()) {
      Object value = value(spend, part, context);
      if (value == null) {
        throw unusable(spend, "the id is null: " + part.getExpressionString());
      }
      parts.add(value.toString());
    }
    Expression cost = spend.cost();
    long tokens = cost == null ? spend.fixedCost() : tokens(spend, cost, context);
    try {
      String id =
          parts.size() == 1
              ? parts.get(0)
              : limits.catalogue().get(spend.limit()).id().join(parts, Strictness.LENIENT);
      return Transaction.of(limits, spend.limit(), id).withCost(tokens);
    } catch (InvalidRequestException e) {
      throw unusable(spend, String.valueOf(e.getMessage()));
    }
  }

  private long tokens(Spend spend, Expression cost, MethodBasedEvaluationContext context) {
    Object value = value(spend, cost, context);
    Long tokens = MethodParser.tokens(value);
    if (tokens == null) {
      Object found = value == null || value instanceof Number ? value : value.getClass().getName();
      throw unusable(
          spend,
          "the cost is %s, expected a whole number: %s"
              .formatted(found, cost.getExpressionString()));
    }
    return tokens;
  }

  private @Nullable Object value(
      Spend spend, Expression expression, MethodBasedEvaluationContext context) {
    try {
      return expression.getValue(context);
    } catch (EvaluationException e) {
      if (e instanceof SpelEvaluationException wrong && MISTAKES.contains(wrong.getMessageCode())) {
        throw new IllegalStateException(
            "@RateLimited(limit = \"%s\") on %s: correct the expression \"%s\": %s"
                .formatted(spend.limit(), method, expression.getExpressionString(), e.getMessage()),
            e);
      }
      throw unusable(spend, String.valueOf(e.getMessage()));
    }
  }

  private UnusableIdException unusable(Spend spend, String reason) {
    return new UnusableIdException(
        "@RateLimited(limit = \"%s\") on %s: %s".formatted(spend.limit(), method, reason));
  }

  /** Waits for the store in the caller's thread, and runs the method there. */
  @Nullable Object block(Limiter limiter) throws Throwable {
    Batch batch = batch(limiter.limits().get());
    Admission admission;
    if (batch.isConditional()) {
      Reservation reservation = limiter.reserve(batch.transactions());
      admission = new Admission(batch, reservation.decision(), reservation);
    } else {
      admission = new Admission(batch, limiter.spend(batch.transactions()), null);
    }
    if (admission.denied()) {
      return denied(admission.decision());
    }
    Object result;
    try {
      result = call.proceed();
    } catch (Throwable failure) {
      admission.settle(failure);
      throw failure;
    }
    admission.settle(null);
    return result;
  }

  /** Decides without blocking. */
  CompletableFuture<Admission> admit(AsyncLimiter limiter, Batch batch) {
    if (batch.isConditional()) {
      CompletableFuture<Reservation> asked =
          limiter.reserve(batch.transactions()).toCompletableFuture();
      CompletableFuture<Admission> outcome = new CompletableFuture<>();
      Stages.onEnd(
          asked,
          (made, failure) -> {
            if (failure != null) {
              outcome.completeExceptionally(failure);
              return;
            }
            Admission admission = new Admission(batch, made.decision(), made);
            if (!outcome.complete(admission)) {
              admission.neverRan();
            }
          });
      return linked(asked, outcome);
    }
    CompletableFuture<Decision> asked = limiter.spend(batch.transactions()).toCompletableFuture();
    return linked(asked, asked.thenApply(decision -> new Admission(batch, decision, null)));
  }

  /** A caller that gives up the outcome gives up the charge, if it was not sent yet. */
  private static <T> CompletableFuture<T> linked(
      CompletableFuture<?> asked, CompletableFuture<T> outcome) {
    Stages.onEnd(
        outcome,
        (made, failure) -> {
          if (failure != null) {
            asked.cancel(false);
          }
        });
    return outcome;
  }

  /** Answers at once; the method runs when the store has decided. */
  CompletableFuture<Object> stage(AsyncLimiter limiter, Executor executor, Limits limits) {
    CompletableFuture<Admission> admitted;
    try {
      admitted = admit(limiter, batch(limits));
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
    MethodInvocation later = later();
    AtomicBoolean isTaken = new AtomicBoolean();
    Function<Admission, CompletionStage<Object>> run =
        admission ->
            isTaken.getAndSet(true)
                ? CompletableFuture.failedFuture(new CancellationException())
                : proceed(later, admission);
    // The store's threads must not run the application's code.
    CompletableFuture<Object> outcome =
        admitted.isDone() ? admitted.thenCompose(run) : admitted.thenComposeAsync(run, executor);
    Stages.onEnd(
        outcome,
        (result, failure) -> {
          if (!isTaken.getAndSet(true)) { // cancelled, or timed out, before it could run
            Stages.onSuccess(admitted, Admission::neverRan);
          }
        });
    return linked(admitted, outcome);
  }

  private CompletionStage<Object> proceed(MethodInvocation later, Admission admission) {
    try {
      if (admission.denied()) {
        return stageOf(denied(admission.decision()));
      }
      CompletionStage<Object> body;
      try {
        body = stageOf(later.proceed());
      } catch (Throwable failure) {
        body = CompletableFuture.failedFuture(failure);
      }
      if (admission.reservation() == null) {
        return body;
      }
      return body.handle(
              (result, failure) ->
                  admission
                      .settleAsync(cause(failure))
                      .thenCompose(settled -> again(result, failure)))
          .thenCompose(stage -> stage);
    } catch (Throwable failure) {
      return CompletableFuture.failedFuture(failure);
    }
  }

  @SuppressWarnings("unchecked") // the method's result is one
  private static CompletionStage<Object> stageOf(@Nullable Object result) {
    return result == null
        ? CompletableFuture.completedFuture(null)
        : (CompletionStage<Object>) result;
  }

  private static CompletionStage<Object> again(
      @Nullable Object result, @Nullable Throwable failure) {
    return failure == null
        ? CompletableFuture.completedFuture(result)
        : CompletableFuture.failedFuture(failure);
  }

  static @Nullable Throwable cause(@Nullable Throwable failure) {
    return failure instanceof CompletionException && failure.getCause() != null
        ? failure.getCause()
        : failure;
  }

  /** The invocation, to proceed once its interceptor has returned, and more than once. */
  MethodInvocation later() {
    return ((ProxyMethodInvocation) call).invocableClone();
  }

  /** Returns the fallback's answer, or throws its exception. */
  @Nullable Object denied(Decision decision) throws Throwable {
    RateLimitedException denial = new RateLimitedException(decision);
    Fallback fallback = method.fallback();
    if (fallback == null) {
      throw denial;
    }
    Object[] arguments = call.getArguments();
    if (fallback.takesDenial()) {
      arguments = Arrays.copyOf(arguments, arguments.length + 1);
      arguments[arguments.length - 1] = denial;
    }
    // A client that is an interface alone has no other object than its proxy.
    Object target =
        call.getThis() == null ? ((ProxyMethodInvocation) call).getProxy() : call.getThis();
    try {
      return fallback.method().invoke(target, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }
}
