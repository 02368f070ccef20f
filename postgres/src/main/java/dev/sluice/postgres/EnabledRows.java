// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import java.util.List;

/**
 * The enabled rows of the table at one instant, valid and invalid.
 *
 * @param rows the rows, sorted by key
 * @param allDisabled whether the table has rows and all of them are disabled
 */
record EnabledRows(List<OverrideRow> rows, boolean allDisabled) {}
