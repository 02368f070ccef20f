// SPDX-License-Identifier: Apache-2.0
/**
 * The HTTP server: one port, a list of parts that answer on it, and bounds for what clients may
 * hold. Most classes here correct or bound a behaviour of the HTTP library, and document which one.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.server.net;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
