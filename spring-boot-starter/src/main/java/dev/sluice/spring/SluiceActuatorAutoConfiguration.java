// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.Limiter;
import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * The actuator endpoint {@code sluice}, and the health of the store. The health check blocks if the
 * store blocks.
 */
@AutoConfiguration(after = SluiceAutoConfiguration.class)
@ConditionalOnClass(Endpoint.class)
@ConditionalOnBean(Limiter.class)
@ConditionalOnProperty(prefix = SluiceProperties.PREFIX, name = "enabled", matchIfMissing = true)
class SluiceActuatorAutoConfiguration {

  /** Used only if actuator endpoints are configured. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
  static class Endpoints {

    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnAvailableEndpoint(endpoint = SluiceEndpoint.class)
    SluiceEndpoint sluiceEndpoint(
        Limiter limiter, SluiceProperties properties, SuppliedQuotas quotas) {
      int ipv6Prefix = properties.filter().clientAddress().ipv6Prefix();
      return properties.endpoint().reset()
          ? new SluiceEndpoint.Resetting(limiter, quotas, ipv6Prefix)
          : new SluiceEndpoint(limiter, quotas, ipv6Prefix);
    }

    @Bean
    @ConditionalOnAvailableEndpoint(endpoint = SluiceEndpoint.class)
    SuppliedQuotas sluiceSuppliedQuotas() {
      return new SuppliedQuotas();
    }
  }

  /** The health indicator for Spring Boot 3. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(name = "org.springframework.boot.actuate.health.HealthIndicator")
  @ConditionalOnBean(BucketStore.class)
  @ConditionalOnProperty(name = "management.health.sluice.enabled", matchIfMissing = true)
  static class Health3 {

    @Bean
    @ConditionalOnMissingBean(name = "sluiceHealthIndicator")
    org.springframework.boot.actuate.health.HealthIndicator sluiceHealthIndicator(
        BucketStore store) {
      return () -> {
        try {
          store.ping();
          return org.springframework.boot.actuate.health.Health.up().build();
        } catch (StoreException e) {
          return org.springframework.boot.actuate.health.Health.down(e).build();
        }
      };
    }
  }

  /** The health indicator for Spring Boot 4. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(name = "org.springframework.boot.health.contributor.HealthIndicator")
  @ConditionalOnBean(BucketStore.class)
  @ConditionalOnProperty(name = "management.health.sluice.enabled", matchIfMissing = true)
  static class Health4 {

    @Bean
    @ConditionalOnMissingBean(name = "sluiceHealthIndicator")
    org.springframework.boot.health.contributor.HealthIndicator sluiceHealthIndicator(
        BucketStore store) {
      return () -> {
        try {
          store.ping();
          return org.springframework.boot.health.contributor.Health.up().build();
        } catch (StoreException e) {
          return org.springframework.boot.health.contributor.Health.down(e).build();
        }
      };
    }
  }
}
