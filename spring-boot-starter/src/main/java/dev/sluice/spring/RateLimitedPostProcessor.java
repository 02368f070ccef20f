// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import java.lang.reflect.Method;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.core.annotation.AnnotationUtils;

/**
 * Puts limits in front of the {@link RateLimited} methods of beans, and before what else stands
 * there, such as transactions.
 */
final class RateLimitedPostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor {

  private static final long serialVersionUID = 1;

  /**
   * Makes a processor.
   *
   * @param methods called when the first limited method is, so that no bean is made too early
   * @param proxyTargetClass whether proxies extend the bean's class
   */
  RateLimitedPostProcessor(Supplier<RateLimitedMethods> methods, boolean proxyTargetClass) {
    setProxyTargetClass(proxyTargetClass);
    setBeforeExistingAdvisors(true);
    MethodInterceptor interceptor = call -> methods.get().invoke(call);
    this.advisor = new DefaultPointcutAdvisor(new Limited(), interceptor);
  }

  private static final class Limited extends StaticMethodMatcherPointcut {

    Limited() {
      setClassFilter(type -> AnnotationUtils.isCandidateClass(type, RateLimited.class));
    }

    @Override
    public boolean matches(Method method, Class<?> type) {
      return !RateLimitedMethods.annotations(method, type).isEmpty();
    }
  }
}
