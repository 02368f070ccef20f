// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.Limiter;
import dev.sluice.web.RefusalHook;
import dev.sluice.web.Rule;
import dev.sluice.webflux.RateLimitWebFilter;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Lazy;
import org.springframework.web.server.WebFilter;
import reactor.core.publisher.Mono;

/** Configures the filter of a WebFlux application, and its responses to a denial. */
@AutoConfiguration(after = SluiceAutoConfiguration.class)
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
@ConditionalOnClass({WebFilter.class, Mono.class})
@ConditionalOnProperty(prefix = SluiceProperties.PREFIX, name = "enabled", matchIfMissing = true)
class SluiceWebFluxAutoConfiguration {

  /** This method is before the filter's method, so it finds only a filter of the application. */
  @Bean
  @Lazy(false)
  @ConditionalOnBean(RateLimitWebFilter.class)
  @ConditionalOnProperty(
      prefix = "sluice.filter",
      name = "enabled",
      havingValue = "true",
      matchIfMissing = true)
  FilterRules.OwnFilter sluiceOwnFilter(SluiceProperties properties) {
    return new FilterRules.OwnFilter(properties, "RateLimitWebFilter");
  }

  @Bean
  @ConditionalOnMissingBean
  @ConditionalOnProperty(
      prefix = "sluice.filter",
      name = "enabled",
      havingValue = "true",
      matchIfMissing = true)
  @Conditional(FilterRules.Exist.class)
  RateLimitWebFilter sluiceWebFilter(
      SluiceProperties properties,
      Limiter limiter,
      ObjectProvider<Rule> rules,
      ObjectProvider<RefusalHook> hooks) {
    SluiceProperties.Filter filter = properties.filter();
    RateLimitWebFilter.Builder builder =
        RateLimitWebFilter.builder(limiter)
            .clientAddress(FilterRules.clientAddress(filter.clientAddress()))
            .headers(filter.headers())
            .order(filter.order());
    hooks.ifAvailable(hook -> builder.onDenied(hook).onError(hook));
    FilterRules.addTo(builder, properties, limiter, rules.orderedStream());
    return FilterRules.build(builder::build);
  }

  @Bean
  @ConditionalOnMissingBean
  ReactiveRateLimitAdvice sluiceRateLimitAdvice(
      SluiceProperties properties, ObjectProvider<RefusalHook> hooks) {
    return new ReactiveRateLimitAdvice(
        properties.filter().headers(),
        hooks.getIfAvailable(() -> (request, decision, prepared) -> prepared));
  }
}
