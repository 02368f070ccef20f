// SPDX-License-Identifier: Apache-2.0
package dev.sluice.webflux;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Decision;
import dev.sluice.Limiter;
import dev.sluice.web.Admission;
import dev.sluice.web.ClientAddress;
import dev.sluice.web.Refusal;
import dev.sluice.web.RequestLimiter;
import dev.sluice.web.Rule;
import dev.sluice.web.RuleBuilder;
import dev.sluice.web.WebRequest;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.security.Principal;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.core.Ordered;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import org.springframework.web.util.DisconnectedClientHelper;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * A WebFlux filter that admits requests within their limits, and answers all other requests with a
 * 429. If the store fails, the limiter's {@link dev.sluice.FailureRule} decides. If the failure
 * rule denies the request, or the limiter has no failure rule, the response is a 503.
 *
 * <p>A request spends from all limits of all rules that match the request, or from none. A request
 * is charged once, even if the filter is called several times for its exchange. {@linkplain
 * Rule.Builder#shadow Shadow rules} are charged only for admitted requests.
 *
 * <p>A conditional rule ({@link Rule.Builder#countOnly}) is settled when the response is committed,
 * by the status that the client gets. If the client disconnects before the response is committed,
 * the tokens stay spent. A rule with an {@linkplain Rule.Builder#estimate estimate} is settled when
 * the whole response is sent, or when the client has disconnected.
 *
 * <p>Thread-safe, and never blocks. After waiting for the store, the exchange continues on {@link
 * Builder#scheduler}.
 */
public final class RateLimitWebFilter implements WebFilter, Ordered, AutoCloseable {

  /**
   * The exchange attribute with the {@link Decision} that admitted a request. If several filters
   * admitted the request, the attribute has the strictest decision. If no rule matched the request,
   * the attribute is absent.
   */
  public static final String DECISION = "dev.sluice.webflux.decision";

  /** The default order of a filter: before Spring Security, whose order is -100. */
  public static final int DEFAULT_ORDER = -110;

  private static final String ADMISSIONS = "dev.sluice.webflux.admissions";

  private static final AtomicInteger INSTANCES = new AtomicInteger();

  private final RequestLimiter limiter;
  private final Scheduler scheduler;
  private final int order;
  private final String charged;

  private RateLimitWebFilter(RequestLimiter limiter, Scheduler scheduler, int order) {
    this.limiter = limiter;
    this.scheduler = scheduler;
    this.order = order;
    this.charged = "dev.sluice.webflux.charged." + INSTANCES.incrementAndGet();
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

  @Override
  public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
    if (exchange.getAttributes().putIfAbsent(charged, true) != null) {
      return chain.filter(exchange);
    }
    return exchange
        .getPrincipal()
        .map(Principal::getName)
        .map(Optional::of)
        .defaultIfEmpty(Optional.empty())
        .flatMap(
            user -> answer(limiter.admitAsync(new ExchangeWebRequest(exchange, user.orElse(null)))))
        .doOnDiscard(Admission.class, Admission::leaveSpent) // the client disconnected
        .flatMap(admission -> admitted(exchange, chain, admission));
  }

  @Override
  public int getOrder() {
    return order;
  }

  /** Closes the filter, so that reloads can remove limits that its rules use. Never blocks. */
  @Override
  public void close() {
    limiter.close();
  }

  /**
   * Returns a view of an exchange for rules, for example to find the client's address with {@link
   * ClientAddress#find}.
   *
   * @param exchange the exchange
   * @return a view of the exchange's request; it contains no user name
   */
  public static WebRequest webRequest(ServerWebExchange exchange) {
    return new ExchangeWebRequest(exchange, null);
  }

  /**
   * Continues the exchange on another thread than the store's, because the application's code must
   * not block the store's threads.
   */
  private <T> Mono<T> answer(CompletionStage<T> stage) {
    CompletableFuture<T> future = stage.toCompletableFuture();
    Mono<T> answer = Mono.fromFuture(future);
    return future.isDone() ? answer : answer.publishOn(scheduler);
  }

  private Mono<Void> admitted(
      ServerWebExchange exchange, WebFilterChain chain, Admission admission) {
    Refusal refusal = admission.refusal();
    if (refusal != null) {
      return refuse(exchange, refusal);
    }
    Decision decision = admission.decision();
    if (decision != null) {
      allowed(exchange, decision);
    }
    if (admission.isEstimated()) {
      return settledAtTheEnd(exchange, chain, admission);
    }
    return admission.isConditional() ? settled(exchange, chain, admission) : chain.filter(exchange);
  }

  /**
   * Rejects a request in the same way as the filter, for code that limits requests itself.
   *
   * @param exchange the exchange, whose response is not committed
   * @param refusal the response to send
   * @return a Mono that completes when the response is written
   */
  public static Mono<Void> refuse(ServerWebExchange exchange, Refusal refusal) {
    ServerHttpResponse response = exchange.getResponse();
    byte[] body = refusal.body().getBytes(StandardCharsets.UTF_8);
    response.setStatusCode(HttpStatusCode.valueOf(refusal.status()));
    refusal.headers().forEach(response.getHeaders()::set);
    response.getHeaders().setContentLength(body.length);
    return response.writeWith(Mono.fromSupplier(() -> response.bufferFactory().wrap(body)));
  }

  private void allowed(ServerWebExchange exchange, Decision decision) {
    Decision before = exchange.getAttribute(DECISION);
    Decision strictest = before == null ? decision : before.stricter(decision);
    exchange.getAttributes().put(DECISION, strictest);
    limiter.headers(strictest).forEach(exchange.getResponse().getHeaders()::set);
  }

  /**
   * Settles an exchange when its response is committed. The status is unknown before the commit,
   * because an exception becomes a response outside of all filters. If an exchange ends without a
   * response, its tokens stay spent, since the result of the work is unknown.
   */
  private Mono<Void> settled(
      ServerWebExchange exchange, WebFilterChain chain, Admission admission) {
    ServerHttpResponse response = exchange.getResponse();
    response.beforeCommit(() -> answer(admission.settleAsync(status(response))));
    return chain
        .filter(exchange)
        .doOnError(RateLimitWebFilter::isResultUnknown, failure -> admission.leaveSpent())
        .doOnCancel(admission::leaveSpent);
  }

  /**
   * Sets the true cost of an exchange, for the rules that {@linkplain Rule.Builder#estimate
   * estimated} the cost; does nothing if no rule estimated the cost. Call this method from any
   * thread when the cost is known, even after the client has disconnected. If several costs are
   * set, the last cost before the end of the response counts. If this method is first called after
   * the end of the response, only the cost of the first call counts. Never blocks.
   *
   * @param exchange the exchange
   * @param tokens the number of tokens to charge for the request
   * @throws IllegalArgumentException if the cost is below 1
   */
  public static void cost(ServerWebExchange exchange, long tokens) {
    List<Admission> admissions = exchange.getAttribute(ADMISSIONS);
    if (admissions != null) {
      admissions.forEach(admission -> admission.cost(tokens));
    }
  }

  /**
   * Settles an exchange when its whole response is sent. After an exception, the status is known
   * only when the response is committed, outside of all filters.
   */
  private Mono<Void> settledAtTheEnd(
      ServerWebExchange exchange, WebFilterChain chain, Admission admission) {
    @SuppressWarnings("unchecked") // all filters store this type
    List<Admission> admissions =
        (List<Admission>)
            exchange
                .getAttributes()
                .computeIfAbsent(ADMISSIONS, name -> new CopyOnWriteArrayList<Admission>());
    admissions.add(admission);
    ServerHttpResponse response = exchange.getResponse();
    AtomicBoolean hasFailed = new AtomicBoolean();
    response.beforeCommit(
        () -> hasFailed.get() ? answer(admission.settleAsync(status(response))) : Mono.empty());
    return chain
        .filter(exchange)
        .doOnSuccess(done -> end(admission, response))
        .doOnError(
            failure -> {
              hasFailed.set(true);
              if (isResultUnknown(failure)) {
                admission.leaveSpent();
              } else if (response.isCommitted()) {
                end(admission, response);
              }
            })
        .doOnCancel(admission::leaveSpent);
  }

  private static void end(Admission admission, ServerHttpResponse response) {
    var unused = admission.settleAsync(status(response));
  }

  /**
   * Whether the result of the application's work is unknown, because the client has disconnected or
   * the exchange has timed out. After such a failure, the status is not from the application. A
   * failed connection to another server is the application's failure, so its status counts.
   */
  private static boolean isResultUnknown(Throwable failure) {
    return failure instanceof TimeoutException
        || DisconnectedClientHelper.isClientDisconnectedException(failure)
        || isResetOnJavaSocket(failure);
  }

  /**
   * Whether a client has reset its connection on Netty's NIO transport, whose message lacks the "by
   * peer" that Spring looks for. Most failures of outgoing connections are wrapped in another
   * exception, so this method does not match them.
   */
  private static boolean isResetOnJavaSocket(Throwable failure) {
    return failure instanceof SocketException && "Connection reset".equals(failure.getMessage());
  }

  private static int status(ServerHttpResponse response) {
    HttpStatusCode status = response.getStatusCode();
    return status == null ? 200 : status.value();
  }

  /** Makes a {@link RateLimitWebFilter}. Not thread-safe. */
  public static final class Builder extends RuleBuilder<Builder> {
    private Scheduler scheduler = Schedulers.parallel();
    private int order = DEFAULT_ORDER;

    private Builder(Limiter limiter) {
      super(limiter);
    }

    @Override
    protected Builder self() {
      return this;
    }

    /**
     * Sets the scheduler on which an exchange continues after waiting for the store; {@link
     * Schedulers#parallel} if not called. A store in memory replies at once, so the exchange stays
     * on its thread.
     *
     * @param continuesOn the scheduler on which an exchange continues
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder scheduler(Scheduler continuesOn) {
      this.scheduler = continuesOn;
      return this;
    }

    /**
     * Sets the filter's order among other filters; {@link #DEFAULT_ORDER} if not called. If a rule
     * limits by the principal, the filter must come after the filter that authenticates.
     *
     * @param place the order; filters with lower values run first
     * @return this
     */
    @CanIgnoreReturnValue
    public Builder order(int place) {
      this.order = place;
      return this;
    }

    /**
     * Makes the filter.
     *
     * @return the filter; the caller closes it
     * @throws IllegalArgumentException if a rule does not fit the limits; the message lists every
     *     mistake: an unknown limit, a limit that is not configured, an id of another format, a
     *     cost above the burst
     * @throws IllegalStateException if the filter has no rule
     */
    public RateLimitWebFilter build() {
      return new RateLimitWebFilter(requestLimiter(false), scheduler, order);
    }
  }
}
