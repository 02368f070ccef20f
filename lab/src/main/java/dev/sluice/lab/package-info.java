// SPDX-License-Identifier: Apache-2.0
/**
 * Rate limiting algorithms side by side on a virtual clock, under traffic from a seeded
 * description. GCRA is the product's own limiter; the others exist for the comparison only.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.lab;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
