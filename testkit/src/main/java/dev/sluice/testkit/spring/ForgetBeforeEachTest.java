// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.spring;

import org.springframework.core.Ordered;
import org.springframework.test.context.TestContext;
import org.springframework.test.context.TestExecutionListener;

/** Fills all buckets before each test method. Spring's factories file registers this listener. */
final class ForgetBeforeEachTest implements TestExecutionListener, Ordered {

  /** Returns an order before the listeners that prepare a test, such as scripts. */
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
