// SPDX-License-Identifier: Apache-2.0
/**
 * Sends metrics and traces to a receiver of OTLP, OpenTelemetry's protocol, over HTTP. A server
 * without a receiver loads none of these classes.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.server.otlp;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
