// SPDX-License-Identifier: Apache-2.0
/**
 * Limits for clients: outgoing requests wait for a limit or are rejected. Requests are paused as
 * long as the remote server demands.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.outbound;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
