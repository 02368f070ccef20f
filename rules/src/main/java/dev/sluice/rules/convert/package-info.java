// SPDX-License-Identifier: Apache-2.0
/** Configurations of other rate limiters, turned into limits, names, overrides and rules. */
@NullMarked
@CheckReturnValue
package dev.sluice.rules.convert;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
