// SPDX-License-Identifier: Apache-2.0
/**
 * The law: token buckets kept as one number. Pure functions over longs; no clock, no name, no
 * allocation.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.gcra;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
