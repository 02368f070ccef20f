// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

/**
 * The result of {@link OverridesTable#put}.
 *
 * @param added the number of new overrides
 * @param again the number of overrides that existed before and were written again
 * @param disabled the number of written overrides that are disabled, and so not in force
 */
public record PutResult(int added, int again, int disabled) {}
