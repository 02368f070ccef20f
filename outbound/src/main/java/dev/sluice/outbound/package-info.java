// SPDX-License-Identifier: Apache-2.0
/**
 * For clients: requests wait for a limit, or are refused, before they leave, and leave the other
 * side alone for as long as it asks.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.outbound;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
