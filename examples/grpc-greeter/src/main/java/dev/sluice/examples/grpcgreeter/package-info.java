// SPDX-License-Identifier: Apache-2.0
/** A gRPC server with a limit for each client, and a client that waits for its turn. */
@NullMarked
@CheckReturnValue
package dev.sluice.examples.grpcgreeter;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
