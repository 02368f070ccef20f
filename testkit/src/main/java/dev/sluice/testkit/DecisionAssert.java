// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.sluice.Decision;
import java.time.Duration;
import org.assertj.core.api.AbstractAssert;
import org.jspecify.annotations.Nullable;

/**
 * AssertJ assertions on a {@link Decision}.
 *
 * <pre>{@code
 * assertThat(limiter.spend("LoginsPerIPAddress", ip)).isDenied().retriesIn(ofSeconds(3));
 * }</pre>
 *
 * <p>Not thread-safe.
 */
public final class DecisionAssert extends AbstractAssert<DecisionAssert, Decision> {

  private DecisionAssert(@Nullable Decision actual) {
    super(actual, DecisionAssert.class);
  }

  /**
   * Starts assertions on a decision.
   *
   * @param actual the decision
   * @return the assertions on the decision
   */
  public static DecisionAssert assertThat(@Nullable Decision actual) {
    return new DecisionAssert(actual);
  }

  /**
   * Asserts that the request is allowed.
   *
   * @return this
   */
  @CanIgnoreReturnValue
  public DecisionAssert isAllowed() {
    isNotNull();
    return check(actual.allowed(), "to be allowed");
  }

  /**
   * Asserts that the request is denied.
   *
   * @return this
   */
  @CanIgnoreReturnValue
  public DecisionAssert isDenied() {
    isNotNull();
    return check(actual.denied(), "to be denied");
  }

  /**
   * Asserts the value of {@link Decision#remaining}.
   *
   * @param tokens the number of whole tokens
   * @return this
   */
  @CanIgnoreReturnValue
  public DecisionAssert hasRemaining(long tokens) {
    isNotNull();
    return check(actual.remaining() == tokens, "to have remaining " + tokens);
  }

  /**
   * Asserts the value of {@link Decision#retryIn}: the wait until the same cost can be spent.
   *
   * @param wait the exact wait
   * @return this
   */
  @CanIgnoreReturnValue
  public DecisionAssert retriesIn(Duration wait) {
    isNotNull();
    return check(actual.retryIn().equals(wait), "to retry in " + wait);
  }

  /**
   * Asserts the value of {@link Decision#resetIn}: the time until the bucket is full.
   *
   * @param wait the exact time
   * @return this
   */
  @CanIgnoreReturnValue
  public DecisionAssert resetsIn(Duration wait) {
    isNotNull();
    return check(actual.resetIn().equals(wait), "to reset in " + wait);
  }

  private DecisionAssert check(boolean holds, String expected) {
    if (!holds) {
      throw failure("Expected a decision%n  %s%nbut found%n  %s", expected, actual);
    }
    return this;
  }
}
