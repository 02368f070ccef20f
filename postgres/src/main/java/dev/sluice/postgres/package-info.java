// SPDX-License-Identifier: Apache-2.0
/**
 * Overrides from a table in PostgreSQL. The table is read at an interval, its overrides are merged
 * over the overrides of the files, and the commands {@code sluice overrides …} write it.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.postgres;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
