// SPDX-License-Identifier: Apache-2.0
/** The contract that every filter must pass: tests over real HTTP with a manual clock. */
@NullMarked
@CheckReturnValue
package dev.sluice.testkit.web;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
