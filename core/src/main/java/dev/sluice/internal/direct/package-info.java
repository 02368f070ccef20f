// SPDX-License-Identifier: Apache-2.0
/** The fastest way to charge buckets in this process's memory. For Sluice's own modules only. */
@NullMarked
@CheckReturnValue
package dev.sluice.internal.direct;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
