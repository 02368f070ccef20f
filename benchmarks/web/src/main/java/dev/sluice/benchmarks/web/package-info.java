// SPDX-License-Identifier: Apache-2.0
/** Measures the cost of a limit per request, compared with an empty filter or an empty advice. */
@NullMarked
@CheckReturnValue
package dev.sluice.benchmarks.web;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
