// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.spring;

import org.springframework.core.Ordered;
import org.springframework.test.context.TestContext;
import org.springframework.test.context.TestExecutionListener;

/**
 * A Spring test listener that fills all buckets before each test method. The file {@code
 * spring.factories} registers this class.
 */
final class ForgetBeforeEachTest implements TestExecutionListener, Ordered {

  /**
   * Returns the highest precedence, so that this listener runs before all listeners that prepare a
   * test, for example with SQL scripts.
   */
  @Override
  public int getOrder() {
    return Ordered.HIGHEST_PRECEDENCE;
  }

  @Override
  public void beforeTestMethod(TestContext test) {
    if (test.hasApplicationContext()) {
      test.getApplicationContext()
          .getBeanProvider(ForgetfulStore.class)
          .ifAvailable(ForgetfulStore::forget);
    }
  }
}
