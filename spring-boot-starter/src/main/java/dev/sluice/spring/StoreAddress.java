// SPDX-License-Identifier: Apache-2.0
package dev.sluice.spring;

/** The forms of {@code sluice.store}. */
final class StoreAddress {

  /** Buckets in this process. */
  static final String MEMORY = "memory";

  /** Buckets in the Redis of Spring Boot's own properties. */
  static final String SPRING_DATA_REDIS = "spring.data.redis";

  private StoreAddress() {}
}
