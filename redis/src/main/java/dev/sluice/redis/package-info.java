// SPDX-License-Identifier: Apache-2.0
/**
 * Buckets in Redis or Valkey, on a single server, servers behind Sentinel, a Cluster or a ring of
 * independent servers. A script inside the Redis server decides on each charge.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.redis;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
