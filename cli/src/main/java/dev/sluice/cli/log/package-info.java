// SPDX-License-Identifier: Apache-2.0
/** The log of the command line: lines on standard error, for people or as JSON. */
@NullMarked
@CheckReturnValue
package dev.sluice.cli.log;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
