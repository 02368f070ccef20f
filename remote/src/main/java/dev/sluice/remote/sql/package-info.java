// SPDX-License-Identifier: Apache-2.0
/** The shared code of stores in databases. */
@NullMarked
@CheckReturnValue
package dev.sluice.remote.sql;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
