// SPDX-License-Identifier: Apache-2.0
/** Tests of Spring Boot applications with limits and with a clock that stands still. */
@NullMarked
@CheckReturnValue
package dev.sluice.testkit.spring;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
