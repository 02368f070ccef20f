// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import org.jspecify.annotations.Nullable;

/**
 * How a request ended.
 *
 * @param status the status that the application answered with; null if it is unknown
 * @param cost the true cost that the application has set; null for none
 */
record Ending(@Nullable Integer status, @Nullable Long cost) {}
