// SPDX-License-Identifier: Apache-2.0
/** Code that several benchmarks use. */
@NullMarked
@CheckReturnValue
package dev.sluice.benchmarks.report;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
