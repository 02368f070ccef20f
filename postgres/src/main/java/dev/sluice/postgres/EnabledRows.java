// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import java.util.List;

/**
 * The rows of the table that are enabled, good or bad, at one moment.
 *
 * @param rows by key
 * @param allDisabled whether the table has rows, and none of them is enabled
 */
record EnabledRows(List<OverrideRow> rows, boolean allDisabled) {}
