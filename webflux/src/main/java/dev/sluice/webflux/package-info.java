// SPDX-License-Identifier: Apache-2.0
/** A rate limiting filter for Spring WebFlux. */
@NullMarked
@CheckReturnValue
package dev.sluice.webflux;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
