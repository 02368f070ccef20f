// SPDX-License-Identifier: Apache-2.0
/**
 * The HTTP server: one port, the parts that answer requests on this port, and bounds on clients'
 * resources. Most classes here correct or bound a behaviour of Armeria, and document this
 * behaviour.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.server.net;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
