// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.report;

/**
 * What a benchmark measures. Immutable if its work is.
 *
 * @param scene what is asked for; subjects of one scene are compared
 * @param name who answers
 * @param work what is done to measure it
 * @param <W> how a benchmark puts its subjects to work
 */
public record Subject<W>(String scene, String name, W work) {}
