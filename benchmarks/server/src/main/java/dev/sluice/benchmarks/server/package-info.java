// SPDX-License-Identifier: Apache-2.0
/** Each door of the server under load, beside what a user would pick instead. Never published. */
@NullMarked
@CheckReturnValue
package dev.sluice.benchmarks.server;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
