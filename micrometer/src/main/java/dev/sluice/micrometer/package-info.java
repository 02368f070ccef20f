// SPDX-License-Identifier: Apache-2.0
/**
 * Micrometer meters for a limiter and for a store in Redis or PostgreSQL. No label of a metric
 * contains an id.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.micrometer;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
