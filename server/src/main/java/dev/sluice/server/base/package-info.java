// SPDX-License-Identifier: Apache-2.0
/** Error handling, versions of watched files, and helpers for all packages of the server. */
@NullMarked
@CheckReturnValue
package dev.sluice.server.base;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
