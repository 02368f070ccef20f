// SPDX-License-Identifier: Apache-2.0
/** A Jakarta Servlet filter, whose rules decide which limits a request is charged to. */
@NullMarked
@CheckReturnValue
package dev.sluice.servlet;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
