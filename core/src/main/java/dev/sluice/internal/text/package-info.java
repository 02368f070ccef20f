// SPDX-License-Identifier: Apache-2.0
/** Shared code to read and write text: durations, suggestions, escaping. */
@NullMarked
@CheckReturnValue
package dev.sluice.internal.text;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
