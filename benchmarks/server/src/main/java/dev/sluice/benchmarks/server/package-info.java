// SPDX-License-Identifier: Apache-2.0
/** Compares each door of the server under load with its alternatives. Never published. */
@NullMarked
@CheckReturnValue
package dev.sluice.benchmarks.server;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
