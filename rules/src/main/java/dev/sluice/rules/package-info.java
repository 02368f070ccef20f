// SPDX-License-Identifier: Apache-2.0
/**
 * The rule book: an ordered list of rules that map a descriptor or a request to the limits that it
 * spends from. It serves doors whose callers do not name a limit and an id themselves.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.rules;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
