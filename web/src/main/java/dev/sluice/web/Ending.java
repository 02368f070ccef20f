// SPDX-License-Identifier: Apache-2.0
package dev.sluice.web;

import org.jspecify.annotations.Nullable;

/**
 * The end of a request.
 *
 * @param status the status of the application's response; null if the status is unknown
 * @param cost the true cost that the application has set; null if it has set none
 */
record Ending(@Nullable Integer status, @Nullable Long cost) {}
