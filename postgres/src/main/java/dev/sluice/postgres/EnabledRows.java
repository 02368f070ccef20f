// SPDX-License-Identifier: Apache-2.0
package dev.sluice.postgres;

import java.util.List;

/** */
record EnabledRows(List<OverrideRow> rows, boolean allDisabled) {}
