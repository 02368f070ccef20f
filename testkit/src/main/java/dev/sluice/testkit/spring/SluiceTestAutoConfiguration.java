// SPDX-License-Identifier: Apache-2.0
package dev.sluice.testkit.spring;

import dev.sluice.store.BucketStore;
import dev.sluice.testkit.ManualTime;
import dev.sluice.testkit.spring.ForgetBeforeEachTest.ForgetfulStore;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Primary;

/**
 * Provides a clock that stands still, and a memory store whose buckets are full before each test
 * method.
 */
@AutoConfiguration(beforeName = "dev.sluice.spring.SluiceAutoConfiguration")
class SluiceTestAutoConfiguration {

  /** Primary, so that the limiter uses it even if the application has a clock of its own. */
  @Bean
  @Primary
  @ConditionalOnMissingBean
  ManualTime sluiceManualTime() {
    return new ManualTime();
  }

  @Bean
  @ConditionalOnMissingBean(BucketStore.class)
  ForgetfulStore sluiceForgetfulStore(ManualTime time) {
    return new ForgetfulStore(time);
  }
}
