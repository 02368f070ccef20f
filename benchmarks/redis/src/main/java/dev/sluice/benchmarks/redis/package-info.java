// SPDX-License-Identifier: Apache-2.0
/** Compares the Redis store with its peers in one run. */
@NullMarked
@CheckReturnValue
package dev.sluice.benchmarks.redis;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
