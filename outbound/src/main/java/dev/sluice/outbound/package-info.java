// SPDX-License-Identifier: Apache-2.0
/**
 * Limits for clients: outgoing requests wait for a limit, or are refused, and are paused for as
 * long as the remote server asks.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.outbound;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
