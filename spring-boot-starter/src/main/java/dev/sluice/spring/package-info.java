// SPDX-License-Identifier: Apache-2.0
/**
 * Rate limits for Spring Boot applications: {@link dev.sluice.spring.RateLimited} on methods, and
 * beans configured by {@code sluice.*} properties.
 */
@NullMarked
@CheckReturnValue
package dev.sluice.spring;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
