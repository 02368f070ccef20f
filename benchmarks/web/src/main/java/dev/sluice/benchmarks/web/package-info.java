// SPDX-License-Identifier: Apache-2.0
/**
 * Benchmarks of the time that a limit adds to a request, compared with a filter or an advice that
 * does nothing (run by {@code ./sluice bench web}).
 */
@NullMarked
@CheckReturnValue
package dev.sluice.benchmarks.web;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
