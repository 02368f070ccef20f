// SPDX-License-Identifier: Apache-2.0
package dev.sluice.limit;

import dev.sluice.gcra.Quota;

/**
 * A quota of its own for one id.
 *
 * @param name the limit's name
 * @param id the id as the name's override form has it, canonical
 * @param quota how much may pass
 * @param comment what a person noted beside it, may be empty
 */
public record LimitOverride(LimitName name, String id, Quota quota, String comment) {}
