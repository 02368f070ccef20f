// SPDX-License-Identifier: Apache-2.0
/**
 * Benchmarks that compare the PostgreSQL store and the MariaDB store with other limiters (run by
 * {@code ./sluice bench sql}).
 */
@NullMarked
@CheckReturnValue
package dev.sluice.benchmarks.sql;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
