// SPDX-License-Identifier: Apache-2.0
/**
 * Benchmarks that compare each protocol of the server with an alternative (run by {@code ./sluice
 * bench server}). The benchmark's module is never published.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.benchmarks.server;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
