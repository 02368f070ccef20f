// SPDX-License-Identifier: Apache-2.0
/**
 * Shared code for {@code CompletionStage}s, retries, and counting the processes of a store. For
 * Sluice's own modules only.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.internal.async;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
