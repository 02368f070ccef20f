// SPDX-License-Identifier: Apache-2.0
/** Limits in the tests of Spring Boot applications, on a clock that stands still. */
@NullMarked
@CheckReturnValue
package dev.sluice.testkit.spring;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
