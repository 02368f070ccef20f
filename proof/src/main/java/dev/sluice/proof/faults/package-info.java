// SPDX-License-Identifier: Apache-2.0
/** Several processes, faults, and real Redis servers; each grant is replayed. */
@NullMarked
@CheckReturnValue
package dev.sluice.proof.faults;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
