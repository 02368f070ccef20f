// SPDX-License-Identifier: Apache-2.0
/** Buckets in PostgreSQL, beside Bucket4j's. */
@NullMarked
@CheckReturnValue
package dev.sluice.benchmarks.sql;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
