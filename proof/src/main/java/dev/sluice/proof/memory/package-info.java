// SPDX-License-Identifier: Apache-2.0
/**
 * A simulator for the store in memory: threads that take turns at every shared read and write, the
 * turns picked from a seed, each run judged against an exact reference.
 */
@CheckReturnValue
@NullMarked
package dev.sluice.proof.memory;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
