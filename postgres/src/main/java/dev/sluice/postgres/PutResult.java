// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

/**
 * The effect of {@link OverridesTable#put}.
 *
 * @param added how many overrides were new
 * @param again how many were there, and have the new quota and comment
 * @param disabled how many of these are disabled, and so do not hold
 */
public record PutResult(int added, int again, int disabled) {}
