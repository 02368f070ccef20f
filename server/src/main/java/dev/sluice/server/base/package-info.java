// SPDX-License-Identifier: Apache-2.0
/** Failures, the generations of watched files, and other tools for every part of the server. */
@NullMarked
@CheckReturnValue
package dev.sluice.server.base;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
