// SPDX-License-Identifier: Apache-2.0
/**
 * Annotations for tests of Spring Boot applications that use the application's limits and a clock
 * that stands still.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.testkit.spring;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
