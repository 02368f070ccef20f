// SPDX-License-Identifier: Apache-2.0
/**
 * Stores of buckets: the contract of every store, and the store in memory. A store gets charges on
 * keys; it knows no limits and no limit names.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.store;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
