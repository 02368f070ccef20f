// SPDX-License-Identifier: Apache-2.0
package dev.sluice.store;

/**
 * The state that a store found when it decided on a charge; everything else follows from it by
 * {@code Gcra}.
 *
 * @param nowNanos the store's present at that moment, nanoseconds since the Unix epoch
 * @param tatNanos the TAT that was kept <em>before</em> the act, unsigned; 0 where there was no
 *     bucket
 */
public record Reading(long nowNanos, long tatNanos) {}
