// SPDX-License-Identifier: Apache-2.0
/** A Jakarta Servlet filter: which requests spend from which limits, for whom, at what cost. */
@NullMarked
@CheckReturnValue
package dev.sluice.servlet;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
