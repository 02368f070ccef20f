// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

/**
 * The state of a bucket when a store decided on a charge; {@code Gcra} computes all other numbers
 * from it.
 *
 * @param nowNanos the store's time at that moment, nanoseconds since the Unix epoch
 * @param tatNanos the TAT <em>before</em> the charge, unsigned; 0 if there was no bucket
 */
public record Reading(long nowNanos, long tatNanos) {}
