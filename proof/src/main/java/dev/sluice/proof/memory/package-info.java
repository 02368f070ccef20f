// SPDX-License-Identifier: Apache-2.0
/** */
@CheckReturnValue
@NullMarked
package dev.sluice.proof.memory;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
