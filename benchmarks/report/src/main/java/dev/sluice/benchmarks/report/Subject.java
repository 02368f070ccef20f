// SPDX-License-Identifier: Apache-2.0
package dev.sluice.benchmarks.report;

/**
 * Something that a benchmark measures.
 *
 * @param scene the scene; subjects of one scene are compared
 * @param name the name of the subject
 * @param work the work to measure
 * @param <W> the type of the work
 */
public record Subject<W>(String scene, String name, W work) {}
