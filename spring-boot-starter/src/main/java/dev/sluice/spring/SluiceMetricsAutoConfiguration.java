// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.limit.CurrentLimits;
import dev.sluice.micrometer.LimiterMetrics;
import dev.sluice.micrometer.StoreMetrics;
import dev.sluice.store.BucketStore;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Instant;
import javax.sql.DataSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Configures the metrics, if the application has a meter registry. */
@AutoConfiguration(
    after = SluiceAutoConfiguration.class,
    afterName = {
      "org.springframework.boot.actuate.autoconfigure.metrics.CompositeMeterRegistryAutoConfiguration",
      "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration"
    })
@ConditionalOnClass({MeterRegistry.class, LimiterMetrics.class})
@ConditionalOnBean({MeterRegistry.class, CurrentLimits.class, BucketStore.class})
@ConditionalOnProperty(prefix = SluiceProperties.PREFIX, name = "enabled", matchIfMissing = true)
class SluiceMetricsAutoConfiguration {

  @Bean
  @ConditionalOnMissingBean
  LimiterMetrics sluiceLimiterMetrics(
      MeterRegistry registry, CurrentLimits limits, BucketStore store) {
    return new LimiterMetrics(registry, limits, store);
  }

  @Bean
  @ConditionalOnMissingBean
  LimitReload.Meters sluiceReloadMeters(LimiterMetrics metrics) {
    return new LimitReload.Meters() {
      @Override
      public void loaded(Instant at) {
        metrics.filesLoaded(at);
      }

      @Override
      public void failed(int mistakes) {
        metrics.filesFailed(mistakes);
      }

      @Override
      public void broke() {
        metrics.filesBroke();
      }

      @Override
      public void overridesLoaded(Instant at) {
        metrics.overridesLoaded(at);
      }

      @Override
      public void overridesFailed(int mistakes) {
        metrics.overridesFailed(mistakes);
      }
    };
  }

  /** Used only if a store on a server is on the class path. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnClass(name = "dev.sluice.remote.RemoteStore")
  static class Remote {

    @Bean
    @ConditionalOnMissingBean(BucketStore.Observer.class)
    StoreMetrics sluiceStoreMetrics(
        MeterRegistry registry, SluiceProperties properties, ObjectProvider<DataSource> sources) {
      return new StoreMetrics(registry, SluiceAutoConfiguration.kind(properties.store(), sources));
    }
  }
}
