// SPDX-License-Identifier: Apache-2.0
/** Shared code to read rules. For this module only. */
@NullMarked
@CheckReturnValue
package dev.sluice.rules.internal;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
