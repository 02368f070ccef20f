// SPDX-License-Identifier: Apache-2.0
@NullMarked
@CheckReturnValue
package dev.sluice.proof.attacks;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
