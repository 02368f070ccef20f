// SPDX-License-Identifier: Apache-2.0
/**
 * The HTTP door: JSON requests, answered with decisions or problem details. The limiter makes every
 * decision.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.server.http;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
