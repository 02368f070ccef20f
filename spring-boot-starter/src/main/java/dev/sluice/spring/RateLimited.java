// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Spends from a limit before a method of a bean runs. A denied call throws a {@link
 * RateLimitedException}, or goes to the {@link #fallback}.
 *
 * <pre>{@code
 * @RateLimited(limit = "ReportsPerAccount", id = "#account.id", cost = "#pages")
 * Report report(Account account, int pages)
 * }</pre>
 *
 * <p>Several on one method are one batch: a call spends from all, or from none. The method may
 * block or return a {@link java.util.concurrent.CompletionStage}, a {@code Mono} or a {@code Flux};
 * a publisher spends at each subscription, without blocking.
 *
 * <p>Expressions are Spring's (SpEL): {@code #name} is a parameter, {@code #p0} the first one,
 * {@code @bean} a bean; names are those of the bean's class. They are parsed once. At start the
 * application is refused if one does not parse or names a parameter that does not exist, and if a
 * limit is unknown or has neither a default nor an expression for its quota.
 *
 * <p>As with all annotations of Spring, calls within one object do not pass the proxy, and are not
 * limited. Private, static and final methods are refused at start.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Repeatable(RateLimited.All.class)
public @interface RateLimited {

  /**
   * The limit's name.
   *
   * @return a limit that is configured
   */
  String limit();

  /**
   * The id that is limited, as an expression; for a joined id one expression for each part, in
   * order. A constant stands in quotes: {@code "'all'"}. An id that is null or has another form
   * than the limit asks for is an {@link UnusableIdException}.
   *
   * @return expressions
   */
  String[] id();

  /**
   * The tokens that a call costs, as an expression that gives a whole number, 0 or more, of any
   * type, or an {@link dev.sluice.Reservation.Estimate.EstimatedCost} for {@link #settle}. A
   * literal such as 0.5 is refused at start; a call that gives such a value fails with an {@link
   * UnusableIdException}. Whole numbers divide as in Java: {@code #bytes / 1024} is 0 below 1024.
   *
   * @return an expression
   */
  String cost() default "1";

  /**
   * The quota of the id, as an expression, for plans of the application's: {@code
   * "@plans.of(#key)"}. It gives a {@link dev.sluice.gcra.Quota} or a list of several with
   * different periods, or a {@link java.util.concurrent.CompletionStage} of either; null means the
   * limit's own. For a method that returns a publisher or a stage, it must not block.
   *
   * <p>If the expression or its stage fails, the call fails with a {@link
   * dev.sluice.web.QuotaFailedException}, spends nothing, and is counted in {@code
   * ratelimits_quota_failures_total}.
   *
   * @return an expression, empty for the limit's own quota
   */
  String quota() default "";

  /**
   * The true cost of a call, which is known afterwards, as an expression in which {@code #result}
   * is the method's result: {@code settle = "#result.usage"}. It replaces {@link #cost}, which is
   * then an estimate such as {@code "@tokens.of(#model, #prompt.length())"}. For a {@code Mono} or
   * a stage, {@code #result} is its value, for a {@code Flux} the last element.
   *
   * <p>The estimate stays spent if the method fails, a publisher is cancelled, or the expression
   * does not give a whole number of 1 or more, which is logged.
   *
   * @return an expression, empty if the cost is known before
   */
  String settle() default "";

  /**
   * The exceptions that count, such as those of failed logins: the cost is spent at once, and given
   * back unless the method ends with one of these. A publisher that is cancelled leaves it spent.
   * Without any, every call counts.
   *
   * @return types of exceptions
   */
  Class<? extends Throwable>[] countOnlyOn() default {};

  /**
   * The name of a method of the same class that answers a denied call: with the same parameters, or
   * with a {@link RateLimitedException} behind them, and the same type of result.
   *
   * @return a method's name, empty for none
   */
  String fallback() default "";

  /** Several annotations on one method. */
  @Documented
  @Retention(RetentionPolicy.RUNTIME)
  @Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
  @interface All {
    /**
     * Returns the annotations of one method, which are charged all or nothing.
     *
     * @return the annotations
     */
    RateLimited[] value();
  }
}
