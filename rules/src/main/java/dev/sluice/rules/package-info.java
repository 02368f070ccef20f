// SPDX-License-Identifier: Apache-2.0
/**
 * The rule book: an ordered list of rules. A rule maps a descriptor or a request to the limits from
 * which the request spends. Rule books are for protocols in which callers do not name a limit and
 * an id themselves.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.rules;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
