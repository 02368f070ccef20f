// SPDX-License-Identifier: Apache-2.0
/**
 * Buckets in Redis or Valkey, decided on inside the server: on one server, behind Sentinel, in a
 * Cluster or on a ring of independent servers.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.redis;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
