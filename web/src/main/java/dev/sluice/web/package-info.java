// SPDX-License-Identifier: Apache-2.0
/**
 * Rules for HTTP requests, for any framework: which requests spend from which limits, for which
 * ids, at what cost, and what the response contains. A filter is an adapter to {@link
 * dev.sluice.web.WebRequest}.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.web;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
