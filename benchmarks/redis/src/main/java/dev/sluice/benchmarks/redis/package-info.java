// SPDX-License-Identifier: Apache-2.0
/**
 * Benchmarks that compare the Redis store with other limiters in Redis (run by {@code ./sluice
 * bench redis}).
 */
@NullMarked
@CheckReturnValue
package dev.sluice.benchmarks.redis;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
