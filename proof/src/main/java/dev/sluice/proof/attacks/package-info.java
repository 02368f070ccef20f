// SPDX-License-Identifier: Apache-2.0
/**
 * Attacks on a server with a small heap, while the response times of a well-behaved client are
 * measured.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.proof.attacks;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
