// SPDX-License-Identifier: Apache-2.0
/**
 * The main API: a {@link dev.sluice.Limiter} decides on {@linkplain dev.sluice.Transaction
 * transactions}, and returns {@linkplain dev.sluice.Decision decisions}.
 */
@NullMarked
@CheckReturnValue
package dev.sluice;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
