// SPDX-License-Identifier: Apache-2.0
/**
 * The memory: what a store of buckets must do, and the one in memory. It knows charges on keys, no
 * names and no limits.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.store;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
