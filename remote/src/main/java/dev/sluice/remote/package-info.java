// SPDX-License-Identifier: Apache-2.0
/**
 * The parts that every store on a server needs: a queue whose calls are shared by many callers,
 * deadlines, a circuit breaker, and remembered denials. A store implements an {@link
 * dev.sluice.remote.Endpoint}, which makes {@link dev.sluice.remote.RemoteCall}s and explains their
 * failures, and passes a {@link dev.sluice.remote.Topology} to a {@link
 * dev.sluice.remote.RemoteStore}.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.remote;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
