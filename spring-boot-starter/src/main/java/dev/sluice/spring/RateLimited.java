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
 * RateLimitedException}, or calls the {@link #fallback} instead.
 *
 * <pre>{@code
 * @RateLimited(limit = "ReportsPerAccount", id = "#account.id", cost = "#pages")
 * Report report(Account account, int pages)
 * }</pre>
 *
 * <p>Several annotations on one method are one batch: a call spends from all limits, or from none.
 * The method can block, or return a {@link java.util.concurrent.CompletionStage}, a {@code Mono} or
 * a {@code Flux}; a publisher spends at each subscription, without blocking.
 *
 * <p>Expressions are written in Spring's language (SpEL): {@code #name} is a parameter, {@code #p0}
 * the first parameter, and {@code @bean} a bean. Parameters are named as in the bean's class. Each
 * expression is parsed only once. The application does not start if an expression cannot be parsed
 * or names a parameter that does not exist, or if a limit is unknown or has neither a default nor
 * an expression for its quota.
 *
 * <p>As with all annotations of Spring, calls within one object bypass the proxy, and are not
 * limited. An annotation on a private, static or final method prevents the start.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Repeatable(RateLimited.All.class)
public @interface RateLimited {

  /**
   * The name of the limit that a call is charged to.
   *
   * @return the name of a configured limit
   */
  String limit();

  /**
   * The id of the bucket, as an expression. For a joined id, one expression for each part, in
   * order. A constant is in quotes: {@code "'all'"}. The id is the text that the value's {@code
   * toString()} returns, so write {@code #account.id} instead of {@code #account}; an array, an
   * {@code Optional}, a {@code Principal} or an object without a {@code toString()} of its own is
   * an {@link IllegalStateException}. If the id is null or does not have the limit's format, the
   * call throws an {@link UnusableIdException}.
   *
   * @return one expression per part of the id
   */
  String[] id();

  /**
   * The cost of a call in tokens, as an expression. The expression's value is a whole number of any
   * type, 0 or more, or an {@link dev.sluice.Reservation.Estimate.EstimatedCost} for {@link
   * #settle}. If the expression is a literal such as 0.5, the application does not start; if the
   * value that the expression has for a call is not a whole number, the call throws an {@link
   * UnusableIdException}. Whole numbers divide as in Java, so that {@code #bytes / 1024} is 0 below
   * 1024.
   *
   * @return an expression
   */
  String cost() default "1";

  /**
   * The quota of the id, as an expression, for an application with its own plans: {@code
   * "@plans.of(#key)"}. The value is a {@link dev.sluice.gcra.Quota}, a list of several quotas with
   * different periods, or a {@link java.util.concurrent.CompletionStage} of a quota or list. If the
   * expression's value is null, the limit's own quota applies. For a method that returns a
   * publisher or a stage, the expression must not block.
   *
   * <p>If the expression or its stage fails, the call throws a {@link
   * dev.sluice.web.QuotaFailedException}, spends nothing, and is counted in {@code
   * ratelimits_quota_failures_total}.
   *
   * @return an expression, empty for the limit's own quota
   */
  String quota() default "";

  /**
   * The true cost of a call, as an expression that is evaluated after the call. In the expression,
   * {@code #result} is the method's result: {@code settle = "#result.usage"}. The true cost
   * replaces {@link #cost}; with this element, {@link #cost} is an estimate such as {@code
   * "@tokens.of(#model, #prompt.length())"}, cut to the limit's burst. For a {@code Mono} or a
   * stage, {@code #result} is its value; for a {@code Flux}, its last element.
   *
   * <p>The estimate stays spent if the method fails, if a publisher is cancelled, or if the value
   * of the expression is not a whole number of 1 or more. A value that is not a whole number of 1
   * or more is logged.
   *
   * @return an expression, empty if the cost is known before the call
   */
  String settle() default "";

  /**
   * The exceptions with which a call costs tokens, such as the exception of a failed login. The
   * cost is spent before the call, and given back unless the method throws one of the listed
   * exceptions. If a publisher is cancelled, the cost stays spent. If the list of exceptions is
   * empty, every call spends its cost.
   *
   * @return the types of the exceptions
   */
  Class<? extends Throwable>[] countOnlyOn() default {};

  /**
   * The name of a method that is called instead of a denied method. The fallback is in the same
   * class, and has the same result type and the same parameters, optionally followed by a {@link
   * RateLimitedException}.
   *
   * @return a method's name, empty for none
   */
  String fallback() default "";

  /** The container for several annotations on one method. */
  @Documented
  @Retention(RetentionPolicy.RUNTIME)
  @Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
  @interface All {
    /**
     * Returns the annotations of one method. A call is charged for all annotations, or for none.
     *
     * @return the annotations
     */
    RateLimited[] value();
  }
}
