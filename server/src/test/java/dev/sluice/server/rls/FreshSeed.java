// SPDX-License-Identifier: Apache-2.0
package dev.sluice.server.rls;

import java.util.SplittableRandom;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;

/**
 * A fresh seed for each test, or that of {@code -Dsluice.seed}. A failure says how to repeat it.
 */
final class FreshSeed implements TestExecutionExceptionHandler {

  private final long seed =
      Long.getLong("sluice.seed", new SplittableRandom().nextLong(Long.MAX_VALUE));

  /** Returns the source of all randomness of the test. */
  SplittableRandom random() {
    return new SplittableRandom(seed);
  }

  @Override
  public void handleTestExecutionException(ExtensionContext context, Throwable failure) {
    throw new AssertionError(
        "the seed was %s; this repeats the failure: ./mvnw test -Pfull -pl server -am -Dsurefire.failIfNoSpecifiedTests=false -Dtest=%s#%s -Dsluice.seed=%s"
            .formatted(
                seed,
                context.getRequiredTestClass().getSimpleName(),
                context.getRequiredTestMethod().getName(),
                seed),
        failure);
  }
}
