// SPDX-License-Identifier: Apache-2.0
/** Compares the store in memory with its alternatives; {@code ./sluice bench memory}. */
@NullMarked
package dev.sluice.benchmarks.memory;

import org.jspecify.annotations.NullMarked;
