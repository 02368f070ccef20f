// SPDX-License-Identifier: Apache-2.0
/**
 * Stores of buckets: the contract of every store, and the store in memory. A store receives bucket
 * keys and charges; it does not know the limits or their names.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.store;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
