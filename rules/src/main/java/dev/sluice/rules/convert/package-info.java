// SPDX-License-Identifier: Apache-2.0
/** Converts the configuration of other rate limiters to limits, names, overrides and rules. */
@NullMarked
@CheckReturnValue
package dev.sluice.rules.convert;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
