// SPDX-License-Identifier: Apache-2.0
/**
 * Stores of buckets: the contract of every store, and the store in memory. A store receives charges
 * of keys; limits and their names are unknown to it.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.store;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
