// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.spring;

import org.springframework.core.Ordered;
import org.springframework.test.context.TestContext;
import org.springframework.test.context.TestExecutionListener;

final class ForgetBeforeEachTest implements TestExecutionListener, Ordered {

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
