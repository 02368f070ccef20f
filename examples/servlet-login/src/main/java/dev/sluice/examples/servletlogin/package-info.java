// SPDX-License-Identifier: Apache-2.0
/** A login form whose failed attempts are limited. */
@NullMarked
@CheckReturnValue
package dev.sluice.examples.servletlogin;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
