// SPDX-License-Identifier: Apache-2.0
/**
 * Sends metrics and traces to a receiver of OTLP, OpenTelemetry's protocol, over HTTP. A server
 * without an OTLP receiver loads no class of this package.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.server.otlp;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
