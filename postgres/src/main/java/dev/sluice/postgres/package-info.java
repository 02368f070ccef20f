// SPDX-License-Identifier: Apache-2.0
/**
 * Buckets, overrides and penalties in PostgreSQL. The table of overrides is read at an interval,
 * and its overrides take precedence over the overrides of the files. The commands {@code sluice
 * overrides …} write this table.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.postgres;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
