// SPDX-License-Identifier: Apache-2.0
/**
 * Attacks on a server with a small heap. During an attack, the response times of well-behaved
 * clients are measured.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.proof.attacks;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
