// SPDX-License-Identifier: Apache-2.0
/**
 * Compares rate limiting algorithms. A {@link dev.sluice.lab.Scenario} sends the same simulated
 * traffic to each algorithm on a virtual clock. GCRA is Sluice's own limiter. The algorithms other
 * than GCRA exist only for the comparison.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.lab;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
