// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.AsyncLimiter;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.LimiterObserver;
import dev.sluice.Reservation.Estimate.EstimatedCost;
import dev.sluice.Transaction;
import dev.sluice.gcra.Quota;
import dev.sluice.internal.async.Stages;
import dev.sluice.internal.text.LogPace;
import dev.sluice.limit.IdFormat;
import dev.sluice.limit.IdFormat.Strictness;
import dev.sluice.limit.InvalidRequestException;
import dev.sluice.limit.LimitName;
import dev.sluice.limit.Limits;
import dev.sluice.spring.RateLimitedMethod.Fallback;
import dev.sluice.spring.RateLimitedMethod.Spend;
import dev.sluice.store.StoreException;
import dev.sluice.web.Batch;
import dev.sluice.web.QuotaFailedException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.reflect.InvocationTargetException;
import java.security.Principal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
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

  private static final LogPace UNKNOWN_COSTS = new LogPace(System::nanoTime);

  private static final LogPace FAILED_QUOTAS = new LogPace(System::nanoTime);

  /**
   * Errors whose cause is always a mistake in an expression or a bean, never the arguments of a
   * call.
   */
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

  /**
   * How a call ended.
   *
   * @param returned whether the method has returned a result, which can be null
   */
  record Outcome(boolean returned, @Nullable Object result, @Nullable Throwable failure) {

    /** The outcome of a call whose method did not run, and so did not fail. */
    static final Outcome NEVER_RAN = new Outcome(false, null, null);

    static Outcome of(@Nullable Object result, @Nullable Throwable failure) {
      return new Outcome(failure == null, result, failure);
    }
  }

  /**
   * The decision on a call, and the batch that gives tokens back after some outcomes of the call.
   */
  record Admission(Batch<Outcome> batch, Decision decision) {

    boolean denied() {
      return decision.denied();
    }

    /**
     * Gives back the tokens that a call with the given outcome does not cost, and charges the true
     * costs.
     */
    @CanIgnoreReturnValue
    CompletionStage<Void> settleAsync(Outcome outcome) {
      return batch.settleAsync(outcome, RateLimitedCall::notSettled);
    }

    void neverRan() {
      settleAsync(Outcome.NEVER_RAN);
    }
  }

  private static void notSettled(StoreException failure) {
    LOG.log(Level.WARNING, "tokens were not given back, or not charged: {0}", failure.getMessage());
  }

  /** The charge of one annotation, after its quota is known. */
  private record Spent(
      Spend spend,
      String id,
      UnaryOperator<Transaction> cost,
      CompletableFuture<@Nullable List<Quota>> quota) {}

  /** Evaluates the expressions; the returned future completes when all quotas are known. */
  private CompletableFuture<Batch<Outcome>> batch(Limiter limiter) {
    Limits limits = limiter.limits().get();
    MethodBasedEvaluationContext context =
        new MethodBasedEvaluationContext(
            call.getThis(), method.method(), call.getArguments(), MethodParser.NAMES);
    context.setBeanResolver(beans);
    List<Spent> spent =
        method.spends().stream().map(spend -> spent(spend, context, limits)).toList();
    return CompletableFuture.allOf(
            spent.stream().map(Spent::quota).toArray(CompletableFuture<?>[]::new))
        .handle(
            (done, failure) -> {
              Batch<Outcome> batch = new Batch<>();
              for (Spent one : spent) {
                Spend spend = one.spend;
                Transaction transaction = transaction(one, limits, limiter);
                try {
                  Predicate<Outcome> counts =
                      spend.isConditional() ? outcome -> spend.counts(outcome.failure()) : null;
                  if (spend.settle() == null) {
                    batch.add(transaction, counts);
                  } else {
                    batch.addEstimate(
                        transaction, counts, outcome -> trueCost(spend, context, outcome));
                  }
                } catch (InvalidRequestException e) {
                  throw unusable(spend, String.valueOf(e.getMessage()));
                }
              }
              return batch;
            });
  }

  private Spent spent(Spend spend, MethodBasedEvaluationContext context, Limits limits) {
    List<String> parts = new ArrayList<>(spend.id().size());
    for (Expression part : spend.id()) {
      Object value = value(spend, part, context);
      if (value == null) {
        throw unusable(spend, "the id is null: " + part.getExpressionString());
      }
      parts.add(text(spend, part, value));
    }
    Expression cost = spend.cost();
    UnaryOperator<Transaction> charge =
        cost == null ? one -> one.withCost(spend.fixedCost()) : cost(spend, cost, context);
    try {
      IdFormat format = limits.catalogue().get(spend.limit()).id();
      String id =
          parts.size() == 1
              ? format.canonical(parts.get(0), Strictness.LENIENT)
              : format.join(parts, Strictness.LENIENT);
      return new Spent(spend, id, charge, quota(spend, context));
    } catch (InvalidRequestException e) {
      throw unusable(spend, String.valueOf(e.getMessage()));
    }
  }

  /**
   * Returns the text of an id. Refuses values whose text differs between equal ids, or is equal for
   * many callers: each mistake would silently switch the limit off, or limit everybody at once.
   */
  private String text(Spend spend, Expression part, Object value) {
    String text = value.toString();
    String instead = null;
    if (value instanceof Principal) {
      instead = "%s.name";
    } else if (value instanceof Optional) {
      instead = "%s.orElse(null)";
    } else if (value.getClass().isArray()) {
      instead = "new String(%s)";
    } else if (isOfObject(text, value)) {
      instead = "%s.id";
    }
    if (instead != null) {
      throw mistake(
          spend,
          part,
          "found a value of the type %s, whose toString() is not an id; write for example \"%s\""
              .formatted(
                  value.getClass().getTypeName(), instead.formatted(part.getExpressionString())),
          null);
    }
    return text;
  }

  /** Whether a text is from Object's toString(), even if the value is a proxy of a subclass. */
  private static boolean isOfObject(String text, Object value) {
    int at = text.lastIndexOf('@');
    return at >= 0
        && !(value instanceof CharSequence)
        && Stream.<Class<?>>iterate(value.getClass(), Objects::nonNull, Class::getSuperclass)
            .anyMatch(type -> type.getName().contentEquals(text.subSequence(0, at)));
  }

  private IllegalStateException mistake(
      Spend spend, Expression expression, String reason, @Nullable Throwable cause) {
    return new IllegalStateException(
        "@RateLimited(limit = \"%s\") on %s: correct the expression \"%s\": %s"
            .formatted(spend.limit(), method, expression.getExpressionString(), reason),
        cause);
  }

  /**
   * Returns the quotas that the application supplies. If there is no expression, or its value is
   * null, the limit's own quota applies.
   */
  private static CompletableFuture<@Nullable List<Quota>> quota(
      Spend spend, MethodBasedEvaluationContext context) {
    Object found;
    try {
      found = spend.quota() == null ? null : spend.quota().getValue(context);
    } catch (RuntimeException e) { // thrown by the bean or by the expression
      return CompletableFuture.failedFuture(e);
    }
    return found instanceof CompletionStage<?> stage
        ? stage.thenApply(RateLimitedCall::asQuotas).toCompletableFuture()
        : CompletableFuture.completedFuture(found).thenApply(RateLimitedCall::asQuotas);
  }

  private static @Nullable List<Quota> asQuotas(@Nullable Object found) {
    if (found == null) {
      return null;
    }
    if (found instanceof Quota only) {
      return List.of(only);
    }
    List<Quota> quotas = new ArrayList<>();
    for (Object one : found instanceof Collection<?> several ? several : List.of(found)) {
      if (!(one instanceof Quota quota)) {
        throw new IllegalStateException(
            "found %s, expected a Quota, a list of Quotas, or a CompletionStage of either"
                .formatted(one == null ? null : one.getClass().getName()));
      }
      quotas.add(quota);
    }
    return Quota.ofOneLimit(quotas);
  }

  private Transaction transaction(Spent spent, Limits limits, Limiter limiter) {
    Spend spend = spent.spend;
    try {
      LimitName name = limits.catalogue().get(spend.limit());
      List<Quota> supplied = supplied(spent, name, limiter);
      Transaction one =
          supplied == null
              ? Transaction.of(limits, spend.limit(), spent.id)
              : Transaction.of(name, supplied, spent.id);
      if (spend.quota() != null && one.coverage().isMissing()) {
        throw failed(
            name,
            "found null, expected a quota, since no default is configured for this limit",
            null,
            limiter.observer());
      }
      return spent.cost.apply(one);
    } catch (InvalidRequestException e) {
      throw unusable(spend, String.valueOf(e.getMessage()));
    }
  }

  private @Nullable List<Quota> supplied(Spent spent, LimitName name, Limiter limiter) {
    try {
      return spent.quota.join();
    } catch (CompletionException | CancellationException e) {
      Throwable cause = Stages.cause(e);
      throw failed(name, cause.toString(), cause, limiter.observer());
    }
  }

  private QuotaFailedException failed(
      LimitName name, String reason, @Nullable Throwable cause, LimiterObserver observer) {
    QuotaFailedException failure =
        new QuotaFailedException(name, "@RateLimited on %s: %s".formatted(method, reason), cause);
    observer.quotaFailed(name, cause == null ? failure : cause);
    String more = FAILED_QUOTAS.next();
    if (more != null) {
      LOG.log(Level.WARNING, failure.getMessage() + more, cause);
    }
    return failure;
  }

  private UnaryOperator<Transaction> cost(
      Spend spend, Expression cost, MethodBasedEvaluationContext context) {
    Object value = value(spend, cost, context);
    if (value instanceof EstimatedCost estimated) {
      return one -> one.withCost(estimated);
    }
    Long tokens = MethodParser.tokens(value);
    if (tokens == null) {
      Object found = value == null || value instanceof Number ? value : value.getClass().getName();
      throw unusable(
          spend,
          "the cost is %s, expected a whole number: %s"
              .formatted(found, cost.getExpressionString()));
    }
    return spend.settle() == null
        ? one -> one.withCost(tokens)
        : one -> one.withCost(Math.min(tokens, Quota.leastBurst(one.quotas())));
  }

  /** Returns the true cost; null if it is unknown, so that the estimate stays spent. */
  private @Nullable Long trueCost(
      Spend spend, MethodBasedEvaluationContext context, Outcome outcome) {
    Expression settle = spend.settle();
    if (settle == null || !outcome.returned()) {
      return null;
    }
    Object found;
    try {
      context.setVariable(MethodParser.RESULT, outcome.result());
      Object value = settle.getValue(context);
      Long tokens = MethodParser.tokens(value);
      if (tokens != null && tokens > 0) {
        return tokens;
      }
      found = value == null || value instanceof Number ? value : value.getClass().getName();
    } catch (RuntimeException e) { // thrown by the result or by the expression
      found = e.getMessage();
    }
    String more = UNKNOWN_COSTS.next();
    if (more != null) {
      LOG.log(
          Level.WARNING,
          "@RateLimited(limit = \"%s\") on %s: the estimate stays spent, as settle = \"%s\" gave %s, expected a whole number of 1 or more%s"
              .formatted(spend.limit(), method, settle.getExpressionString(), found, more));
    }
    return null;
  }

  private @Nullable Object value(
      Spend spend, Expression expression, MethodBasedEvaluationContext context) {
    try {
      return expression.getValue(context);
    } catch (EvaluationException e) {
      if (e instanceof SpelEvaluationException wrong && MISTAKES.contains(wrong.getMessageCode())) {
        throw mistake(spend, expression, String.valueOf(e.getMessage()), e);
      }
      throw unusable(spend, String.valueOf(e.getMessage()));
    }
  }

  private UnusableIdException unusable(Spend spend, String reason) {
    return new UnusableIdException(
        "@RateLimited(limit = \"%s\") on %s: %s".formatted(spend.limit(), method, reason));
  }

  /** Waits for the store on the caller's thread, and runs the method on the same thread. */
  @Nullable Object block(Limiter limiter) throws Throwable {
    Batch<Outcome> batch = known(batch(limiter));
    Decision decision = batch.spend(limiter);
    if (decision.denied()) {
      return denied(decision);
    }
    Object result;
    try {
      result = call.proceed();
    } catch (Throwable failure) {
      batch.settle(Outcome.of(null, failure), RateLimitedCall::notSettled);
      throw failure;
    }
    batch.settle(Outcome.of(result, null), RateLimitedCall::notSettled);
    return result;
  }

  private static Batch<Outcome> known(CompletableFuture<Batch<Outcome>> batch) {
    try {
      return batch.join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : e;
    }
  }

  /** Decides without blocking. Throws an exception for wrong arguments. */
  CompletableFuture<Admission> admit(Limiter limiter) {
    CompletableFuture<Admission> admitted = new CompletableFuture<>();
    Stages.onEnd(
        batch(limiter),
        (batch, failure) -> {
          if (batch == null) {
            admitted.completeExceptionally(Stages.cause(Objects.requireNonNull(failure)));
          } else if (!admitted.isDone()) { // unless the caller has cancelled
            try {
              admit(limiter.async(), batch, admitted);
            } catch (RuntimeException e) {
              admitted.completeExceptionally(e);
            }
          }
        });
    return admitted;
  }

  private static void admit(
      AsyncLimiter limiter, Batch<Outcome> batch, CompletableFuture<Admission> admitted) {
    CompletableFuture<Decision> decided =
        batch.spendAsync(
            limiter, late -> late.settleAsync(Outcome.NEVER_RAN, RateLimitedCall::notSettled));
    Stages.onEnd(
        decided,
        (decision, failure) -> {
          if (decision == null) {
            admitted.completeExceptionally(failure);
          } else {
            Admission admission = new Admission(batch, decision);
            if (!admitted.complete(admission)) {
              admission.neverRan();
            }
          }
        });
    linked(decided, admitted);
  }

  /** Cancels the charge when the caller cancels the outcome, unless the charge was already sent. */
  @CanIgnoreReturnValue
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

  /** Returns at once; the limited method runs after the store has decided. */
  CompletableFuture<Object> stage(Limiter limiter, Executor executor) {
    CompletableFuture<Admission> admitted;
    try {
      admitted = admit(limiter);
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
          if (!isTaken.getAndSet(true)) { // cancelled or timed out before the method ran
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
      if (!admission.batch().isOpen()) {
        return body;
      }
      return body.handle(
              (result, failure) ->
                  admission
                      .settleAsync(
                          Outcome.of(result, failure == null ? null : Stages.cause(failure)))
                      .thenCompose(settled -> again(result, failure)))
          .thenCompose(stage -> stage);
    } catch (Throwable failure) {
      return CompletableFuture.failedFuture(failure);
    }
  }

  @SuppressWarnings("unchecked") // the method returns this type
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

  /** Returns a copy of the invocation, which can proceed later, and several times. */
  MethodInvocation later() {
    return ((ProxyMethodInvocation) call).invocableClone();
  }

  /** Calls the fallback; without a fallback, throws a {@link RateLimitedException}. */
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
    // A client that is only an interface has no target object, so its proxy is used instead.
    Object target =
        call.getThis() == null ? ((ProxyMethodInvocation) call).getProxy() : call.getThis();
    try {
      return fallback.method().invoke(target, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }
}
