// SPDX-License-Identifier: Apache-2.0
/** Faults on real Redis servers under the load of several processes; every grant is replayed. */
@NullMarked
@CheckReturnValue
package dev.sluice.proof.faults;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
