// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

/**
 * The result of {@link OverridesTable#put}.
 *
 * @param added the number of new overrides
 * @param again the number of existing overrides, which now have the new quotas and comments
 * @param disabled the number of existing overrides that are disabled, and so not in force
 */
public record PutResult(int added, int again, int disabled) {}
