// SPDX-License-Identifier: Apache-2.0
/** Figures for people who watch a running server: rates of the last minute, and ids denied most. */
@NullMarked
@CheckReturnValue
package dev.sluice.server.stats;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
