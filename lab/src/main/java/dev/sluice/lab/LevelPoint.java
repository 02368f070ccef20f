// SPDX-License-Identifier: Apache-2.0
package dev.sluice.lab;

/**
 * How full a bucket was at a moment.
 *
 * @param nanos since the start
 * @param level tokens that were taken, 0 to the limit's burst
 */
public record LevelPoint(long nanos, double level) {}
