// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/** Whether the store answers, as Spring Boot 4 asks. Blocks as the store does. */
final class Boot4Health implements HealthIndicator {

  private final BucketStore store;

  Boot4Health(BucketStore store) {
    this.store = store;
  }

  @Override
  public Health health() {
    try {
      store.ping();
      return Health.up().build();
    } catch (StoreException e) {
      return Health.down(e).build();
    }
  }
}
