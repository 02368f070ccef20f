// SPDX-License-Identifier: Apache-2.0
/** Micrometer meters of a limiter and of a store in Redis. An id never becomes a label. */
@NullMarked
@CheckReturnValue
package dev.sluice.micrometer;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
