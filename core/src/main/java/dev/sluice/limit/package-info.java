// SPDX-License-Identifier: Apache-2.0
/**
 * The rules: what limits there are, for which ids, and how much each lets through. Immutable but
 * for {@link dev.sluice.limit.CurrentLimits}, the one reference that a reload replaces.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.limit;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
