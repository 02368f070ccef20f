// SPDX-License-Identifier: Apache-2.0
/** Serves Envoy's rate limit protocol over gRPC and as JSON. The limiter makes every decision. */
@NullMarked
@CheckReturnValue
package dev.sluice.server.rls;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
