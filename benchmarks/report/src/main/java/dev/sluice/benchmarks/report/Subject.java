// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.report;

/**
 * A program or function that a benchmark measures.
 *
 * @param scene the name of the comparison; its subjects are compared with each other
 * @param name the name of the subject
 * @param work the work whose time is measured
 * @param <W> the type of the work
 */
public record Subject<W>(String scene, String name, W work) {}
