// SPDX-License-Identifier: Apache-2.0
/**
 * The arithmetic of token buckets that are each stored as one number. This package reads no clock,
 * and knows neither limits' names nor ids.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.gcra;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
