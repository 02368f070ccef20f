// SPDX-License-Identifier: Apache-2.0
/**
 * A simulator for the memory store. Before every access to shared memory, the simulator can let
 * another thread run. A seed determines which thread runs. An exact model checks the results of
 * each run.
 */
@CheckReturnValue
@NullMarked
package dev.sluice.proof.memory;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
