// SPDX-License-Identifier: Apache-2.0
/**
 * The door for Envoy: its rate limit service over gRPC, and the same as JSON. The door only
 * translates; the limiter decides.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.server.rls;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
