// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.Limiter;
import dev.sluice.store.BucketStore;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The endpoint {@code sluice}, and the health of the store. */
@AutoConfiguration(after = SluiceAutoConfiguration.class)
@ConditionalOnClass(Endpoint.class)
@ConditionalOnBean(Limiter.class)
@ConditionalOnProperty(prefix = SluiceProperties.PREFIX, name = "enabled", matchIfMissing = true)
class SluiceActuatorAutoConfiguration {

  /** Only where endpoints are configured too. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
  static class Endpoints {

    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnAvailableEndpoint(endpoint = SluiceEndpoint.class)
    SluiceEndpoint sluiceEndpoint(Limiter limiter, SluiceProperties properties) {
      return properties.endpoint().reset()
          ? new ResettingSluiceEndpoint(limiter)
          : new SluiceEndpoint(limiter);
    }
  }

  /** Spring Boot 3. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(name = "org.springframework.boot.actuate.health.HealthIndicator")
  @ConditionalOnBean(BucketStore.class)
  @ConditionalOnProperty(name = "management.health.sluice.enabled", matchIfMissing = true)
  static class Health3 {

    @Bean
    @ConditionalOnMissingBean(name = "sluiceHealthIndicator")
    Boot3Health sluiceHealthIndicator(BucketStore store) {
      return new Boot3Health(store);
    }
  }

  /** Spring Boot 4. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(name = "org.springframework.boot.health.contributor.HealthIndicator")
  @ConditionalOnBean(BucketStore.class)
  @ConditionalOnProperty(name = "management.health.sluice.enabled", matchIfMissing = true)
  static class Health4 {

    @Bean
    @ConditionalOnMissingBean(name = "sluiceHealthIndicator")
    Boot4Health sluiceHealthIndicator(BucketStore store) {
      return new Boot4Health(store);
    }
  }
}
