// SPDX-License-Identifier: Apache-2.0
/**
 * Metrics and traces for a receiver of OpenTelemetry's protocol, OTLP over HTTP. Nothing of it is
 * loaded by a server that sends to none.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.server.otlp;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
