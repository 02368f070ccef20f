// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import java.lang.reflect.Method;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.expression.Expression;

/**
 * A limited method, parsed when the application starts. Immutable.
 *
 * @param method the method as declared in the bean's class
 * @param kind the kind of the method's result
 * @param spends the charges of each call
 * @param fallback the method that is called instead of the denied method; null for none
 */
record RateLimitedMethod(
    Method method, Kind kind, List<Spend> spends, @Nullable Fallback fallback) {

  /** The kinds of a method's result. */
  enum Kind {
    BLOCKING,
    STAGE,
    PUBLISHER
  }

  /**
   * The parsed content of one annotation.
   *
   * @param limit the limit's name
   * @param id the expressions for the parts of the id
   * @param cost the expression for the cost; null for a constant cost
   * @param fixedCost the cost in tokens, if it is constant
   * @param quota the expression for the quota; null for the limit's own quota
   * @param settle the expression for the true cost; null if the cost is known before the call
   * @param countOnlyOn the exceptions with which a call costs tokens; empty if every call costs
   *     tokens
   */
  record Spend(
      String limit,
      List<Expression> id,
      @Nullable Expression cost,
      long fixedCost,
      @Nullable Expression quota,
      @Nullable Expression settle,
      List<Class<? extends Throwable>> countOnlyOn) {

    boolean isConditional() {
      return !countOnlyOn.isEmpty();
    }

    /** Whether the tokens stay spent after a call with {@code failure} (null for a success). */
    boolean counts(@Nullable Throwable failure) {
      return countOnlyOn.isEmpty()
          || countOnlyOn.stream().anyMatch(type -> type.isInstance(failure));
    }
  }

  /**
   * The method that is called instead of a denied method.
   *
   * @param method a method of the class that contains the denied method
   * @param takesDenial whether the last parameter is a {@link RateLimitedException}
   */
  record Fallback(Method method, boolean takesDenial) {}

  @Override
  public String toString() {
    return method.getDeclaringClass().getSimpleName() + "." + method.getName();
  }
}
