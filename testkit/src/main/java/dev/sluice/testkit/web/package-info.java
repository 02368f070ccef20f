// SPDX-License-Identifier: Apache-2.0
/** The contract of every filter: rules over real HTTP, on a manual clock. */
@NullMarked
@CheckReturnValue
package dev.sluice.testkit.web;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
