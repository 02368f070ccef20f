// SPDX-License-Identifier: Apache-2.0
/** The store in memory beside what a user would pick instead; {@code ./sluice bench memory}. */
@NullMarked
package dev.sluice.benchmarks.memory;

import org.jspecify.annotations.NullMarked;
