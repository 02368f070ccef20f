// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.Limiter;
import dev.sluice.servlet.RateLimitFilter;
import dev.sluice.web.RefusalHook;
import dev.sluice.web.Rule;
import jakarta.servlet.DispatcherType;
import jakarta.servlet.Filter;
import java.util.EnumSet;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;

/** Configures the filter of a servlet application, and its responses to a denial. */
@AutoConfiguration(after = SluiceAutoConfiguration.class)
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
@ConditionalOnClass({Filter.class, FilterRegistrationBean.class})
@ConditionalOnProperty(prefix = SluiceProperties.PREFIX, name = "enabled", matchIfMissing = true)
class SluiceServletAutoConfiguration {

  /** This method is before the filter's method, so it finds only a filter of the application. */
  @Bean
  @Lazy(false)
  @ConditionalOnBean(
      value = RateLimitFilter.class,
      parameterizedContainer = FilterRegistrationBean.class)
  @ConditionalOnProperty(
      prefix = "sluice.filter",
      name = "enabled",
      havingValue = "true",
      matchIfMissing = true)
  FilterRules.OwnFilter sluiceOwnFilter(SluiceProperties properties) {
    return new FilterRules.OwnFilter(properties, "RateLimitFilter");
  }

  @Bean
  @ConditionalOnMissingBean(
      value = RateLimitFilter.class,
      parameterizedContainer = FilterRegistrationBean.class)
  @ConditionalOnProperty(
      prefix = "sluice.filter",
      name = "enabled",
      havingValue = "true",
      matchIfMissing = true)
  @Conditional(FilterRules.Exist.class)
  FilterRegistrationBean<RateLimitFilter> sluiceFilter(
      SluiceProperties properties,
      Limiter limiter,
      ObjectProvider<Rule> rules,
      ObjectProvider<RefusalHook> hooks) {
    SluiceProperties.Filter filter = properties.filter();
    RateLimitFilter.Builder builder =
        RateLimitFilter.builder(limiter)
            .clientAddress(FilterRules.clientAddress(filter.clientAddress()))
            .headers(filter.headers());
    hooks.ifAvailable(hook -> builder.onDenied(hook).onError(hook));
    FilterRules.addTo(builder, properties, limiter, rules.orderedStream());
    FilterRegistrationBean<RateLimitFilter> registration =
        new FilterRegistrationBean<>(FilterRules.build(builder::build));
    registration.setDispatcherTypes(EnumSet.of(DispatcherType.REQUEST));
    registration.setOrder(filter.order());
    return registration;
  }

  /** Used only if Spring MVC is on the class path. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(name = "org.springframework.web.servlet.DispatcherServlet")
  static class Mvc {

    @Bean
    @ConditionalOnMissingBean
    ServletRateLimitAdvice sluiceRateLimitAdvice(
        SluiceProperties properties, ObjectProvider<RefusalHook> hooks) {
      return new ServletRateLimitAdvice(
          properties.filter().headers(),
          hooks.getIfAvailable(() -> (request, decision, prepared) -> prepared));
    }
  }
}
