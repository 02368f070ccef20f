// SPDX-License-Identifier: Apache-2.0
/** JSON requests and decisions, as HTTP bodies and recorded traces have them. */
@NullMarked
@CheckReturnValue
package dev.sluice.wire;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
