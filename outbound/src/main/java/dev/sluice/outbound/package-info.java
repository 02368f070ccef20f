// SPDX-License-Identifier: Apache-2.0
/**
 * Rate limits for outgoing requests. A request waits until its limit admits it, or is rejected. If
 * the remote server demands a pause, further requests wait until the pause has ended.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.outbound;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
