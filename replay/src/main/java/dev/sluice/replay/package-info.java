// SPDX-License-Identifier: Apache-2.0
/**
 * Replays access logs: {@link dev.sluice.replay.Replay} decides each logged request with Sluice's
 * own limiter and rules, at the time in the log.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.replay;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
