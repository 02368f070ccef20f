// SPDX-License-Identifier: Apache-2.0
/**
 * A simulator for the store in memory. Threads take turns at every shared read and write, a seed
 * selects the turns, and an exact reference judges each run.
 */
@CheckReturnValue
@NullMarked
package dev.sluice.proof.memory;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
