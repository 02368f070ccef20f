// SPDX-License-Identifier: Apache-2.0
/** What every store in a database needs. */
@NullMarked
@CheckReturnValue
package dev.sluice.remote.sql;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
