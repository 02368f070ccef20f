// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.Limiter;
import java.lang.reflect.Method;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.springframework.aop.framework.autoproxy.AbstractBeanFactoryAwareAdvisingPostProcessor;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.aop.support.StaticMethodMatcherPointcut;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Role;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.env.Environment;

/** Configures {@link RateLimited}. */
@AutoConfiguration(after = SluiceAutoConfiguration.class)
@ConditionalOnClass(DefaultPointcutAdvisor.class)
@ConditionalOnBean(Limiter.class)
@ConditionalOnProperty(prefix = SluiceProperties.PREFIX, name = "enabled", matchIfMissing = true)
@ConditionalOnProperty(
    prefix = "sluice.annotation",
    name = "enabled",
    havingValue = "true",
    matchIfMissing = true)
class SluiceMethodAutoConfiguration {

  /**
   * This method is static and receives a provider, since its bean is created before all other
   * beans.
   */
  @Bean
  @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
  static PostProcessor sluiceRateLimitedPostProcessor(
      ObjectProvider<RateLimitedMethods> methods, Environment environment) {
    return new PostProcessor(
        methods::getObject,
        environment.getProperty("spring.aop.proxy-target-class", Boolean.class, true));
  }

  @Bean
  RateLimitedMethods sluiceRateLimitedMethods(
      Limiter limiter, ConfigurableListableBeanFactory beanFactory) {
    return new RateLimitedMethods(limiter, beanFactory);
  }

  /**
   * Applies limits to the {@link RateLimited} methods of beans, before other interceptors such as
   * transactions.
   */
  static final class PostProcessor extends AbstractBeanFactoryAwareAdvisingPostProcessor {

    private static final long serialVersionUID = 1;

    /**
     * Creates a processor.
     *
     * @param methods a supplier that is called when the first bean with a limited method is
     *     created, and not earlier
     * @param proxyTargetClass whether proxies extend the bean's class
     */
    PostProcessor(Supplier<RateLimitedMethods> methods, boolean proxyTargetClass) {
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
}
