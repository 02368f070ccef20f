// SPDX-License-Identifier: Apache-2.0
/**
 * The rule book: an ordered list that says which limits a descriptor or a request spends from, for
 * doors that are not told a limit and an id.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.rules;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
