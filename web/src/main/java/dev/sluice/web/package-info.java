// SPDX-License-Identifier: Apache-2.0
/**
 * Rules for HTTP requests, for any framework. Rules define which requests spend from which limits,
 * with which ids and which cost, and what the response contains. A framework's filter adapts its
 * requests to {@link dev.sluice.web.WebRequest}.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.web;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
