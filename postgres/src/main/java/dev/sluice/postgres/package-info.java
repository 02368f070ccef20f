// SPDX-License-Identifier: Apache-2.0
/**
 * Overrides from a table in PostgreSQL: read at an interval, merged over those of the files, and
 * written by the commands {@code sluice overrides …}.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.postgres;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
