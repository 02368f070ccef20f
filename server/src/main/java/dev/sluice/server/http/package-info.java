// SPDX-License-Identifier: Apache-2.0
/** The HTTP door: JSON in, decisions or problems out. It translates, and decides nothing. */
@NullMarked
@CheckReturnValue
package dev.sluice.server.http;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
