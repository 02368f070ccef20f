// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import java.lang.reflect.Method;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.expression.Expression;

/**
 * A limited method, as it was parsed at start. Immutable.
 *
 * @param method what the bean's class declares
 * @param kind how it gives its result
 * @param spends what each call spends
 * @param fallback answers denied calls; null for none
 */
record RateLimitedMethod(
    Method method, Kind kind, List<Spend> spends, @Nullable Fallback fallback) {

  /** How a method gives its result. */
  enum Kind {
    BLOCKING,
    STAGE,
    PUBLISHER
  }

  /**
   * The content of an annotation.
   *
   * @param limit the limit's name
   * @param id gives each part of the id
   * @param cost gives the tokens; null for one that is always the same
   * @param fixedCost the tokens, if always the same
   * @param quota gives the quota; null where the limits have it
   * @param settle gives the true cost; null if it is known before
   * @param countOnlyOn the exceptions that count; empty for every call
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

    /** Whether a call that ended like this leaves the tokens spent. */
    boolean counts(@Nullable Throwable failure) {
      return countOnlyOn.isEmpty()
          || countOnlyOn.stream().anyMatch(type -> type.isInstance(failure));
    }
  }

  /**
   * The method that answers a denied call.
   *
   * @param method of the same class
   * @param takesDenial whether the exception is its last parameter
   */
  record Fallback(Method method, boolean takesDenial) {}

  /** For messages. */
  @Override
  public String toString() {
    return method.getDeclaringClass().getSimpleName() + "." + method.getName();
  }
}
