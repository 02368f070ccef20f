// SPDX-License-Identifier: Apache-2.0
/**
 * Rate limits for gRPC: a server interceptor that uses the same rules as the HTTP filters, and a
 * client interceptor whose calls wait until the server's limits allow them.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.grpc;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
