// SPDX-License-Identifier: Apache-2.0
/** What a limit costs a request, beside a filter or an advice that does nothing. */
@NullMarked
@CheckReturnValue
package dev.sluice.benchmarks.web;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
