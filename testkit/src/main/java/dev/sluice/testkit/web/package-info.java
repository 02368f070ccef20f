// SPDX-License-Identifier: Apache-2.0
/** Tests that every rate limit filter must pass, over real HTTP with a manual clock. */
@NullMarked
@CheckReturnValue
package dev.sluice.testkit.web;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
