// SPDX-License-Identifier: Apache-2.0
/** The server: one port, a list of parts that answer on it, and what they share. */
@NullMarked
@CheckReturnValue
package dev.sluice.server;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
