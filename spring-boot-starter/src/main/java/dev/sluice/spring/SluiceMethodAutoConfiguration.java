// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.Limiter;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;

/** {@link RateLimited}. */
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

  /** Static and lazy, as it is made before all other beans. */
  @Bean
  @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
  static RateLimitedPostProcessor sluiceRateLimitedPostProcessor(
      ObjectProvider<RateLimitedMethods> methods, Environment environment) {
    return new RateLimitedPostProcessor(
        methods::getObject,
        environment.getProperty("spring.aop.proxy-target-class", Boolean.class, true));
  }

  @Bean
  RateLimitedMethods sluiceRateLimitedMethods(Limiter limiter, BeanFactory beanFactory) {
    return new RateLimitedMethods(limiter, beanFactory);
  }

  @Bean
  RateLimitedCheck sluiceRateLimitedCheck(
      RateLimitedMethods methods, ConfigurableListableBeanFactory beanFactory) {
    return new RateLimitedCheck(methods, beanFactory);
  }
}
