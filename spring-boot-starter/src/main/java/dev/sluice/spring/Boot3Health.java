// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

import dev.sluice.store.BucketStore;
import dev.sluice.store.StoreException;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;

/** Whether the store answers, as Spring Boot 3 asks. Blocks as the store does. */
final class Boot3Health implements HealthIndicator {

  private final BucketStore store;

  Boot3Health(BucketStore store) {
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
