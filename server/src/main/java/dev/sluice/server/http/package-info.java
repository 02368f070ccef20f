// SPDX-License-Identifier: Apache-2.0
/** The HTTP API: answers JSON requests with the limiter's decisions or with problem details. */
@NullMarked
@CheckReturnValue
package dev.sluice.server.http;

import com.google.errorprone.annotations.CheckReturnValue;
import org.jspecify.annotations.NullMarked;
