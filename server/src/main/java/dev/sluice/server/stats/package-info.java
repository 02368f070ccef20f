// SPDX-License-Identifier: Apache-2.0
/**
 * Statistics of a running server, for operators: rates of decisions, and ids that were denied most.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.server.stats;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
