// SPDX-License-Identifier: Apache-2.0
/** The command {@code sluice}: arguments in, text and an exit code out. Thin. */
@NullMarked
@CheckReturnValue
package dev.sluice.cli;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
