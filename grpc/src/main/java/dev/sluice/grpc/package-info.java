// SPDX-License-Identifier: Apache-2.0
/**
 * For gRPC: a server that keeps calls to limits, by the rules that the filters for HTTP use, and a
 * client that waits for its turn.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.grpc;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
