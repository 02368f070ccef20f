// SPDX-License-Identifier: Apache-2.0
/**
 * Limits: their names, the formats of their ids, and their quotas. All types are immutable except
 * {@link dev.sluice.limit.CurrentLimits}, whose content a reload replaces.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.limit;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
