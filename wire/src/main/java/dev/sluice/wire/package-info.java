// SPDX-License-Identifier: Apache-2.0
/**
 * Requests and decisions as JSON writes them: what HTTP bodies and recorded traces have in common.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.wire;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
