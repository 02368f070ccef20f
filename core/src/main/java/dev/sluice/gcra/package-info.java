// SPDX-License-Identifier: Apache-2.0
/**
 * The arithmetic of token buckets, each stored as one number: pure functions over longs, without
 * clocks, names or allocation.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.gcra;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
