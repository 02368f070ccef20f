// SPDX-License-Identifier: Apache-2.0
/**
 * The HTTP server: one port, the parts that answer requests on it, and bounds on clients'
 * resources. Most classes here correct or bound a behaviour of the HTTP library, which they
 * document.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.server.net;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
