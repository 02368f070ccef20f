// SPDX-License-Identifier: Apache-2.0
/**
 * The HTTP server: one port, the parts that answer requests on this port, and bounds on clients'
 * resources. Most classes of this package correct or limit what Armeria does, and their comments
 * explain why.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.server.net;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
