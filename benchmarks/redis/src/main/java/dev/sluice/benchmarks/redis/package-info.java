// SPDX-License-Identifier: Apache-2.0
/** The Redis store and its peers, side by side in one run. */
@NullMarked
@CheckReturnValue
package dev.sluice.benchmarks.redis;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
