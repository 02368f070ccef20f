// SPDX-License-Identifier: Apache-2.0
/** The work of a limiter as Micrometer meters; ids never become labels. */
@NullMarked
@CheckReturnValue
package dev.sluice.micrometer;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
