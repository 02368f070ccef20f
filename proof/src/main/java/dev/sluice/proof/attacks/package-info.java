// SPDX-License-Identifier: Apache-2.0
/** Attacks on a server with a small heap, while a well-behaved client is measured beside them. */
@NullMarked
@CheckReturnValue
package dev.sluice.proof.attacks;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
