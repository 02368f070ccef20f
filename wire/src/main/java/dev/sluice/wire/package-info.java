// SPDX-License-Identifier: Apache-2.0
/** Reads and writes requests and decisions as JSON, in HTTP bodies and recorded traces. */
@NullMarked
@CheckReturnValue
package dev.sluice.wire;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
