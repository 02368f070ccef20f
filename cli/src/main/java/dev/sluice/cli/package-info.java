// SPDX-License-Identifier: Apache-2.0
/** The command {@code sluice}, which turns arguments into calls of the other modules. */
@NullMarked
@CheckReturnValue
package dev.sluice.cli;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
