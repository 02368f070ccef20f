package dev.sluice.benchmarks.memory;

/**
 * What a row came to.
 *
 * @param nanos per decision of one thread
 * @param bytes allocated per decision
 */
record Figure(double nanos, double bytes) {}
