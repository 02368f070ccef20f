// SPDX-License-Identifier: Apache-2.0
/**
 * A simulator for the store in memory: threads take turns at every shared read and write, a seed
 * picks the turns, and each run is judged against an exact reference.
 */
@CheckReturnValue
@NullMarked
package dev.sluice.proof.memory;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
