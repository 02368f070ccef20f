// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.memory;

/**
 * The figure of a row.
 *
 * @param nanos per decision of one thread
 * @param bytes allocated per decision
 */
record Figure(double nanos, double bytes) {}
