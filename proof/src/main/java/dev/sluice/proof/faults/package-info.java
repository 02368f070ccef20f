// SPDX-License-Identifier: Apache-2.0
/**
 * Faults on real Redis servers under the load of several processes. Every grant is checked against
 * the limit.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.proof.faults;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
