// SPDX-License-Identifier: Apache-2.0
/**
 * What every store on a server needs: a queue whose calls many callers share, deadlines, a circuit
 * breaker, remembered denials. A store adds an {@link dev.sluice.remote.Endpoint}, which makes and
 * sends {@link dev.sluice.remote.RemoteCall}s and explains their failures, and gives a {@link
 * dev.sluice.remote.RemoteStore} its {@link dev.sluice.remote.Topology}.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.remote;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
