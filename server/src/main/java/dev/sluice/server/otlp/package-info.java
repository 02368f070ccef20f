// SPDX-License-Identifier: Apache-2.0
/**
 * Metrics and traces for a receiver of OpenTelemetry's protocol, OTLP over HTTP. A server without a
 * receiver loads none of these classes.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.server.otlp;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
