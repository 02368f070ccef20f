// SPDX-License-Identifier: Apache-2.0
/**
 * Limits for gRPC: a server interceptor that uses the same rules as the filters for HTTP, and a
 * client interceptor whose calls wait for their turn.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.grpc;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
