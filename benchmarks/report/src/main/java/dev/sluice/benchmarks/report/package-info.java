// SPDX-License-Identifier: Apache-2.0
/** Shared code of the benchmarks. */
@NullMarked
@CheckReturnValue
package dev.sluice.benchmarks.report;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
