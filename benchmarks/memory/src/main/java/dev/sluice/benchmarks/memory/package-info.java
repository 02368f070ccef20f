// SPDX-License-Identifier: Apache-2.0
/**
 * Benchmarks that compare the memory store with other limiters (run by {@code ./sluice bench
 * memory}).
 */
@NullMarked
package dev.sluice.benchmarks.memory;

import org.jspecify.annotations.NullMarked;
